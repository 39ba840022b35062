package io.holdfast.internal.pin;

import io.holdfast.error.DriverException;
import io.holdfast.error.DriverFault;
import io.holdfast.event.Activity;
import io.holdfast.internal.core.CoreDevice;
import io.holdfast.pin.PinException;
import io.holdfast.pin.QuarantinedRange;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.Traits;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;

/**
 * What all pins of one backend share: which addresses are taken, how many bytes are pinned, which
 * ranges are in quarantine, and whose turn it is to call the driver. Safe from any thread.
 */
public final class PinDesk implements AutoCloseable {
  private final String backendId;
  private final HostKernel kernel;
  private final ReentrantLock lock = new ReentrantLock();
  private final ReentrantLock turn = new ReentrantLock(true);
  private long heldNanos;
  private final TreeMap<Long, Claim> claims = new TreeMap<>();
  private final List<Quarantined> quarantine = new ArrayList<>();
  private final List<LongSupplier> copiesInFlight = new CopyOnWriteArrayList<>();
  private final PinBudget budget;

  /**
   * An empty desk.
   *
   * @param backendId whose, for messages
   * @param kernel whose clock counts
   */
  public PinDesk(String backendId, HostKernel kernel) {
    this.backendId = backendId;
    this.kernel = kernel;
    this.budget = new PinBudget(backendId, kernel);
  }

  /**
   * Asked between driver calls: background pinning steps back while copies are in flight.
   *
   * @param inFlight how many copies are in flight now; quick, and never throws
   */
  public void watchCopies(LongSupplier inFlight) {
    copiesInFlight.add(inFlight);
  }

  /**
   * Asked no longer.
   *
   * @param inFlight what was given to {@link #watchCopies}
   */
  public void unwatchCopies(LongSupplier inFlight) {
    copiesInFlight.remove(inFlight);
  }

  /** How many copies are in flight, over all that were named. */
  long copiesInFlight() {
    long sum = 0;
    for (LongSupplier one : copiesInFlight) {
      sum += one.getAsLong();
    }
    return sum;
  }

  /** Held around each driver call that registers or unregisters, and the pause behind it. */
  ReentrantLock turn() {
    return turn;
  }

  /**
   * Counts a call by who has the turn.
   *
   * @return how long calls took since the last pause
   */
  long held(long nanos) {
    heldNanos += nanos;
    return heldNanos;
  }

  /** Others had their pause; said by who has the turn. */
  void rested() {
    heldNanos = 0;
  }

  /**
   * Takes addresses, before the driver is asked.
   *
   * @throws PinException where pins or the quarantine of this backend have a part of them, or a
   *     total would be exceeded
   */
  Claim claim(MemorySegment pages, Traits traits, Set<String> ignoredBounds, List<String> notes) {
    long address = pages.address();
    long bytes = pages.byteSize();
    lock.lock();
    try {
      requireFree(address, bytes);
      long before = takenBytes();
      requireTotal(before, bytes, traits, ignoredBounds, notes);
      budget.take(before, bytes);
      Claim claim = new Claim(address, bytes);
      claims.put(address, claim);
      return claim;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Whether so many bytes would be admitted, as of now; nothing is taken.
   *
   * @throws PinException where a total would be exceeded
   */
  void requireRoom(long bytes, Traits traits, Set<String> ignoredBounds) {
    lock.lock();
    try {
      long before = takenBytes();
      requireTotal(before, bytes, traits, ignoredBounds, new ArrayList<>());
      budget.require(before, bytes);
    } finally {
      lock.unlock();
    }
  }

  private void requireFree(long address, long bytes) {
    Map.Entry<Long, Claim> below = claims.lowerEntry(address + bytes);
    if (below != null && below.getValue().end() > address) {
      Claim other = below.getValue();
      throw taken(
          address,
          bytes,
          String.format(
              Locale.ROOT, "pinned already: %d bytes at 0x%x", other.bytes, other.address),
          "Close those pins first, or pin another part");
    }
    for (Quarantined other : quarantine) {
      if (other.address < address + bytes && other.address + other.bytes > address) {
        throw taken(
            address,
            bytes,
            String.format(
                Locale.ROOT, "in quarantine: %d bytes at 0x%x", other.bytes, other.address),
            "Try Pinner.retryQuarantine()");
      }
    }
  }

  private PinException taken(long address, long bytes, String what, String remedy) {
    return new PinException(
        PinException.Reason.PINNED_ALREADY,
        0,
        bytes,
        Optional.empty(),
        String.format(
            Locale.ROOT,
            "%s: of the %d bytes at 0x%x a part is %s",
            backendId,
            bytes,
            address,
            what),
        remedy,
        null);
  }

  private void requireTotal(
      long before, long bytes, Traits traits, Set<String> ignoredBounds, List<String> notes) {
    long after = before > Long.MAX_VALUE - bytes ? Long.MAX_VALUE : before + bytes;
    if (after > traits.maxRegisteredBytes()) {
      if (!ignoredBounds.contains(PinBounds.DRIVER_TOTAL)) {
        throw new PinException(
            PinException.Reason.TOTAL_LIMIT,
            0,
            bytes,
            Optional.empty(),
            String.format(
                Locale.ROOT,
                "%s: %d bytes are pinned, %d more exceed the driver's known total of %d",
                backendId,
                before,
                bytes,
                traits.maxRegisteredBytes()),
            "Pin less, or ignore the bound '" + PinBounds.DRIVER_TOTAL + "'",
            null);
      }
      notes.add(
          String.format(
              Locale.ROOT,
              "%s: %d bytes in total exceed the driver's known total of %d; ignored",
              PinBounds.DRIVER_TOTAL,
              after,
              traits.maxRegisteredBytes()));
    } else if (after > traits.warnRegisteredAboveBytes()) {
      notes.add(
          String.format(
              Locale.ROOT,
              "%d bytes in total are more than the %d that are known to work well with this driver",
              after,
              traits.warnRegisteredAboveBytes()));
    }
  }

  /** Gives back what lies behind the first bytes of a claim; all of it for 0. */
  void keepOnly(Claim claim, long bytes) {
    lock.lock();
    try {
      if (bytes >= claim.bytes) {
        return;
      }
      claim.bytes = bytes;
      if (bytes == 0) {
        claims.remove(claim.address, claim);
      }
      budget.settle(takenBytes());
    } finally {
      lock.unlock();
    }
  }

  /** Bytes that are pinned or about to be, quarantine included. */
  private long takenBytes() {
    long sum = 0;
    for (Claim claim : claims.values()) {
      sum += claim.bytes;
    }
    for (Quarantined one : quarantine) {
      sum += one.bytes;
    }
    return sum;
  }

  /** Bytes of all registrations now, quarantine included. */
  long pinnedBytes() {
    lock.lock();
    try {
      long sum = 0;
      for (Claim claim : claims.values()) {
        sum += claim.pinnedBytes;
      }
      for (Quarantined one : quarantine) {
        sum += one.bytes;
      }
      return sum;
    } finally {
      lock.unlock();
    }
  }

  /** Counts a registration that came or went. */
  void count(Claim claim, long bytes) {
    lock.lock();
    try {
      claim.pinnedBytes += bytes;
    } finally {
      lock.unlock();
    }
  }

  /** Takes in a range whose unregister failed. Its pages stay mapped. */
  void quarantine(
      CoreDevice device, MemorySegment range, PinnableMemory.Kept kept, DriverException failure) {
    lock.lock();
    try {
      quarantine.add(new Quarantined(device, range, kept, kernel.nanoTime(), failure));
      budget.settle(takenBytes());
    } finally {
      lock.unlock();
    }
  }

  /** What is in quarantine, oldest first. */
  List<QuarantinedRange> quarantine() {
    lock.lock();
    try {
      long now = kernel.nanoTime();
      return quarantine.stream().map(one -> one.asOf(now)).toList();
    } finally {
      lock.unlock();
    }
  }

  /** Tries each once more; blocks. */
  List<QuarantinedRange> retryQuarantine(CoreDevice asker) {
    List<Quarantined> tried;
    lock.lock();
    try {
      tried = List.copyOf(quarantine);
    } finally {
      lock.unlock();
    }
    for (Quarantined one : tried) {
      turn.lock();
      try {
        if (isIn(one)) {
          retry(one, one.device.standing().isOpen() ? one.device : asker);
        }
      } finally {
        turn.unlock();
      }
    }
    return quarantine();
  }

  private boolean isIn(Quarantined one) {
    lock.lock();
    try {
      return quarantine.contains(one);
    } finally {
      lock.unlock();
    }
  }

  private void retry(Quarantined one, CoreDevice device) {
    try {
      device.port().unregister(one.range);
    } catch (RuntimeException failure) {
      DriverException answer = answer(backendId, "unregister", failure);
      // Said twice, it is believed: no registration starts there any more.
      if (answer.fault() != DriverFault.NOT_REGISTERED) {
        lock.lock();
        try {
          one.attempts++;
          one.failure = answer;
        } finally {
          lock.unlock();
        }
        return;
      }
    }
    lock.lock();
    try {
      quarantine.remove(one);
      budget.settle(takenBytes());
    } finally {
      lock.unlock();
    }
    one.device.journal().done(Activity.RECOVER, null, "a range in quarantine", one.bytes, 0);
    one.kept.close();
  }

  /** Nothing is pinned from now on; what other processes were told is taken back. Idempotent. */
  @Override
  public void close() {
    lock.lock();
    try {
      budget.close();
    } finally {
      lock.unlock();
    }
  }

  /** The driver's answer, also where the port threw something else. */
  static DriverException answer(String backendId, String operation, Throwable failure) {
    if (failure instanceof DriverException answer) {
      return answer;
    }
    DriverException wrapped =
        new DriverException(backendId, operation, 0, failure.toString(), DriverFault.OTHER);
    wrapped.addSuppressed(failure);
    return wrapped;
  }

  /** Addresses taken by one pinned region. */
  static final class Claim {
    private final long address;
    private long bytes;
    private long pinnedBytes;

    Claim(long address, long bytes) {
      this.address = address;
      this.bytes = bytes;
    }

    private long end() {
      return address + bytes;
    }
  }

  /** A range that is still pinned although nobody wants it. */
  private static final class Quarantined {
    private final CoreDevice device;
    private final MemorySegment range;
    private final long address;
    private final long bytes;
    private final PinnableMemory.Kept kept;
    private final long since;
    private int attempts = 1;
    private DriverException failure;

    Quarantined(
        CoreDevice device,
        MemorySegment range,
        PinnableMemory.Kept kept,
        long since,
        DriverException failure) {
      this.device = device;
      this.range = range;
      this.address = range.address();
      this.bytes = range.byteSize();
      this.kept = kept;
      this.since = since;
      this.failure = failure;
    }

    private QuarantinedRange asOf(long now) {
      return new QuarantinedRange(
          address, bytes, Duration.ofNanos(Math.max(0, now - since)), attempts, failure);
    }
  }
}
