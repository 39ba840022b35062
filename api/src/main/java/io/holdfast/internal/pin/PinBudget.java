package io.holdfast.internal.pin;

import io.holdfast.error.HoldfastException;
import io.holdfast.error.HostKernelException;
import io.holdfast.error.SettingException;
import io.holdfast.internal.config.SystemSetting;
import io.holdfast.pin.PinException;
import io.holdfast.pin.Pinner;
import io.holdfast.spi.HostKernel;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * A limit that the operator sets on all pins of a host, read from system properties at plan time.
 * For one thread at a time.
 */
final class PinBudget implements AutoCloseable {
  private final String backendId;
  private final HostKernel kernel;
  private @Nullable PinLedger ledger;

  PinBudget(String backendId, HostKernel kernel) {
    this.backendId = backendId;
    this.kernel = kernel;
  }

  /** Refuses what would exceed the budget as of now; takes nothing. */
  void require(long taken, long more) {
    PinLedger book = ledger();
    if (book == null) {
      check(taken, 0, more);
    } else {
      book.alone(others -> check(taken, others, more));
    }
  }

  /** Takes what does not exceed the budget. */
  void take(long taken, long more) {
    PinLedger book = ledger();
    if (book == null) {
      check(taken, 0, more);
    } else {
      book.alone(
          others -> {
            check(taken, others, more);
            book.write(taken + more);
          });
    }
  }

  /** Tells others how much is taken now. */
  void settle(long taken) {
    PinLedger book = ledger;
    if (book != null) {
      try {
        book.write(taken);
      } catch (HoldfastException _) {
        // The account stays too high until the next change: refused too early, never too late.
      }
    }
  }

  @Override
  public void close() {
    PinLedger book = ledger;
    ledger = null;
    if (book != null) {
      book.close();
    }
  }

  private @Nullable PinLedger ledger() {
    String folder = System.getProperty(Pinner.LEDGER_PROPERTY);
    if (ledger == null && folder != null && !folder.isBlank()) {
      try {
        ledger = PinLedger.open(kernel, Path.of(folder.strip()));
      } catch (HostKernelException | InvalidPathException refused) {
        throw new SettingException(
            Pinner.LEDGER_PROPERTY, folder, "a folder in which a file can be kept", refused);
      }
    }
    return ledger;
  }

  private void check(long taken, long others, long more) {
    OptionalLong limit = limit();
    if (limit.isEmpty()) {
      return;
    }
    long budget = limit.getAsLong();
    long free = Math.max(0, budget - Math.min(budget, taken) - Math.min(budget, others));
    if (more > free) {
      throw new PinException(
          PinException.Reason.HOST_BUDGET,
          0,
          more,
          Optional.empty(),
          String.format(
              Locale.ROOT,
              "%s: %d bytes are pinned or about to be here and %d in other processes; %d more"
                  + " exceed the budget of %d",
              backendId,
              taken,
              others,
              more,
              budget),
          "Pin less, or raise the system property " + Pinner.BUDGET_PROPERTY,
          null);
    }
  }

  private static OptionalLong limit() {
    return SystemSetting.number(Pinner.BUDGET_PROPERTY, 0, Long.MAX_VALUE);
  }
}
