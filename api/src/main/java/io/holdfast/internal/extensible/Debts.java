package io.holdfast.internal.extensible;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a driver refused to take back, to be offered again. Each debt is a row of calls that build
 * on one another: one that was made is not made again, and one behind a refused one waits.
 *
 * <p>Guarded by its region's lock.
 */
final class Debts {
  private final List<Debt> owed = new ArrayList<>();

  /**
   * Makes the calls now, and owes those that are refused.
   *
   * @return the refusal, or null
   */
  @Nullable RuntimeException settleOrOwe(String what, long physicalBytes, Runnable... calls) {
    Debt debt = new Debt(what, physicalBytes, new ArrayDeque<>(List.of(calls)));
    RuntimeException refusal = debt.settle();
    if (refusal != null) {
      owed.add(debt);
    }
    return refusal;
  }

  /**
   * Offers everything again.
   *
   * @return the first refusal, or null when nothing is owed any more
   */
  @Nullable RuntimeException settle() {
    RuntimeException first = null;
    for (Debt debt : List.copyOf(owed)) {
      RuntimeException refusal = debt.settle();
      if (refusal == null) {
        owed.remove(debt);
      } else if (first == null) {
        first = refusal;
      } else {
        first.addSuppressed(refusal);
      }
    }
    return first;
  }

  boolean any() {
    return !owed.isEmpty();
  }

  /** Physical memory that is still held. */
  long physicalBytes() {
    long bytes = 0;
    for (Debt debt : owed) {
      bytes += debt.physicalBytes;
    }
    return bytes;
  }

  /** For people. */
  List<String> notes() {
    return owed.stream()
        .map(debt -> debt.what + " could not be given back yet; the next change tries again")
        .toList();
  }

  private record Debt(String what, long physicalBytes, Deque<Runnable> calls) {
    @Nullable RuntimeException settle() {
      try {
        while (!calls.isEmpty()) {
          calls.element().run();
          calls.remove();
        }
        return null;
      } catch (RuntimeException refused) {
        return refused;
      }
    }
  }
}
