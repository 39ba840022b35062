package io.holdfast.internal.pin;

import io.holdfast.internal.core.CoreDevice;
import io.holdfast.spi.Traits;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The registrations as one device names them: sorted arrays that only grow, published as a whole.
 * Readers take no lock and allocate nothing; one writer at a time, under the region's lock.
 *
 * <p>An offset's registration is found through buckets of equal size, since blocks are scattered: a
 * search among all registrations, or a guess that it is the one before, costs more than the copy's
 * descriptor does otherwise.
 */
final class DeviceView implements HostAddresses {
  private final CoreDevice device;
  private final Traits.Alias alias;
  private volatile Table table =
      new Table(new long[8], new long[8], 0, new Buckets(12, new int[8]));
  private volatile @Nullable RuntimeException broken;

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
    table = new Table(ends, shifts, count + 1, old.buckets.with(ends, count));
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
  public int rangeOf(long offsetBytes) {
    Table now = table;
    long end = now.end();
    if (offsetBytes < 0 || offsetBytes >= end) {
      throw notPinned(offsetBytes, end);
    }
    int bucket = now.buckets.of(offsetBytes);
    int low = now.buckets.first[bucket];
    int high = now.buckets.of(end - 1) == bucket ? now.count - 1 : now.buckets.first[bucket + 1];
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (now.ends[middle] <= offsetBytes) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  @Override
  public long endOf(int range) {
    return table.ends[range];
  }

  @Override
  public long shiftOf(int range) {
    return table.shifts[range];
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
   * @param buckets over all of them
   */
  @SuppressWarnings("ArrayRecordComponent") // shared on purpose: a reader sees the first count only
  private record Table(long[] ends, long[] shifts, int count, Buckets buckets) {
    long end() {
      return count == 0 ? 0 : ends[count - 1];
    }
  }

  /**
   * For each piece of memory of one power of two, the registration that holds its first byte.
   * Pieces behind the last registration mean nothing, so later states share the array.
   */
  private static final class Buckets {
    private static final int MOST = 1 << 12;

    private final int shift;
    private final int[] first;

    Buckets(int shift, int[] first) {
      this.shift = shift;
      this.first = first;
    }

    int of(long offset) {
      return (int) (offset >>> shift);
    }

    /** These with one more registration; more of them, or larger ones, where it needs that. */
    Buckets with(long[] ends, int range) {
      long last = ends[range] - 1;
      if (last >>> shift < first.length) {
        enter(ends, range);
        return this;
      }
      if (last >>> shift < MOST) {
        int needed = Math.max(of(last) + 1, 2 * first.length);
        Buckets more = new Buckets(shift, Arrays.copyOf(first, Math.min(MOST, needed)));
        more.enter(ends, range);
        return more;
      }
      int wider = shift + 1;
      while (last >>> wider >= MOST) {
        wider++;
      }
      Buckets larger = new Buckets(wider, new int[MOST]);
      for (int each = 0; each <= range; each++) {
        larger.enter(ends, each);
      }
      return larger;
    }

    private void enter(long[] ends, int range) {
      long start = range == 0 ? 0 : ends[range - 1];
      for (int bucket = (int) ((start + (1L << shift) - 1) >>> shift);
          (long) bucket << shift < ends[range];
          bucket++) {
        first[bucket] = range;
      }
    }
  }
}
