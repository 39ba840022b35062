package io.holdfast.internal.pin;

import io.holdfast.internal.core.CoreDevice;
import io.holdfast.spi.Traits;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The registrations as one device names them: sorted arrays that only grow, published as a whole.
 * Readers take no lock and allocate nothing; one writer at a time, under the region's lock.
 */
final class DeviceView implements HostAddresses {
  private final CoreDevice device;
  private final Traits.Alias alias;
  private volatile Table table = new Table(new long[8], new long[8], 0);
  private volatile @Nullable RuntimeException broken;

  /** The range that was asked for last; a hint only, so threads may overwrite each other's. */
  private int lastHit;

  DeviceView(CoreDevice device, long backingPageBytes) {
    this.device = device;
    this.alias = device.port().traits(backingPageBytes).alias();
  }

  CoreDevice device() {
    return device;
  }

  /** Appends a registration; a driver call where this driver needs one. */
  long append(MemorySegment range, long offsetBytes) {
    long address =
        switch (alias) {
          case SAME_ADDRESS -> range.address();
          case PER_RANGE -> device.port().seenByDevice(range).address();
        };
    Table old = table;
    int count = old.count;
    long[] ends = count < old.ends.length ? old.ends : Arrays.copyOf(old.ends, 2 * count);
    long[] shifts = count < old.shifts.length ? old.shifts : Arrays.copyOf(old.shifts, 2 * count);
    ends[count] = offsetBytes + range.byteSize();
    shifts[count] = address - offsetBytes;
    table = new Table(ends, shifts, count + 1);
    return address;
  }

  /** Takes no more registrations: this device could not name one. */
  void breakOff(RuntimeException reason) {
    broken = reason;
  }

  boolean isBroken() {
    return broken != null;
  }

  @Override
  public long endOfRange(long offsetBytes) {
    Table now = table;
    return now.ends[find(now, offsetBytes)];
  }

  @Override
  public long addressOf(long offsetBytes) {
    Table now = table;
    return now.shifts[find(now, offsetBytes)] + offsetBytes;
  }

  private int find(Table now, long offset) {
    int hit = lastHit;
    if (hit < now.count && offset < now.ends[hit] && offset >= now.start(hit)) {
      return hit;
    }
    int low = 0;
    int high = now.count;
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (now.ends[middle] <= offset) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    if (low == now.count || offset < 0) {
      throw notPinned(offset, low == 0 ? 0 : now.ends[low - 1]);
    }
    lastHit = low;
    return low;
  }

  private IllegalStateException notPinned(long offset, long end) {
    return new IllegalStateException(
        "byte " + offset + " is not pinned for " + device + "; the first " + end + " bytes are",
        broken);
  }

  /**
   * One state.
   *
   * @param ends where each registration ends, ascending; entries from count on mean nothing
   * @param shifts device address minus offset, for each
   * @param count how many
   */
  @SuppressWarnings("ArrayRecordComponent") // shared on purpose: a reader sees the first count only
  private record Table(long[] ends, long[] shifts, int count) {
    long start(int range) {
      return range == 0 ? 0 : ends[range - 1];
    }
  }
}
