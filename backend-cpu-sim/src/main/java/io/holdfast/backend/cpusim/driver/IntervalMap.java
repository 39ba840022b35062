package io.holdfast.backend.cpusim.driver;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Values by ranges of addresses, sorted by their starts; looking up allocates nothing.
 *
 * <p>Ranges may overlap only where the owner puts them so (some drivers accept that); then the one
 * with the highest start that holds an address answers. Not thread-safe.
 */
final class IntervalMap<T> {
  private long[] starts = new long[16];
  private long[] ends = new long[16];
  private @Nullable Object[] values = new Object[16];
  private int size;
  private long longest;

  int size() {
    return size;
  }

  /** The value whose range holds the address, or null. */
  @Nullable T at(long address) {
    int i = indexAt(address);
    return i < 0 ? null : valueAt(i);
  }

  /** The value whose range starts exactly there, the one put last, or null. */
  @Nullable T startingAt(long address) {
    int i = floor(address);
    return i >= 0 && starts[i] == address ? valueAt(i) : null;
  }

  /** The first value whose range starts at or behind the address, or null. */
  @Nullable T from(long address) {
    int i = floor(address - 1) + 1;
    return i < size ? valueAt(i) : null;
  }

  /** Whether any range shares a byte with the given one. */
  boolean overlaps(long start, long end) {
    int i = floor(end - 1);
    while (i >= 0 && starts[i] + longest > start) {
      if (ends[i] > start) {
        return true;
      }
      i--;
    }
    return false;
  }

  /** The lowest aligned address from {@code start} on with room for that many bytes, or -1. */
  long gap(long start, long end, long bytes, long alignment) {
    long candidate = Math.ceilDiv(start, alignment) * alignment;
    for (int i = Math.max(0, floor(candidate)); i < size; i++) {
      if (ends[i] > candidate) {
        if (starts[i] - candidate >= bytes) {
          return candidate;
        }
        candidate = Math.ceilDiv(ends[i], alignment) * alignment;
      }
    }
    return end - candidate >= bytes ? candidate : -1;
  }

  void put(long start, long end, T value) {
    if (size == starts.length) {
      starts = Arrays.copyOf(starts, size * 2);
      ends = Arrays.copyOf(ends, size * 2);
      values = Arrays.copyOf(values, size * 2);
    }
    int at = floor(start) + 1;
    System.arraycopy(starts, at, starts, at + 1, size - at);
    System.arraycopy(ends, at, ends, at + 1, size - at);
    System.arraycopy(values, at, values, at + 1, size - at);
    starts[at] = start;
    ends[at] = end;
    values[at] = value;
    size++;
    longest = Math.max(longest, end - start);
  }

  /** Removes the range that starts exactly there, the one put last. */
  void remove(long start) {
    int at = floor(start);
    if (at < 0 || starts[at] != start) {
      throw new IllegalStateException("no range starts at 0x" + Long.toHexString(start));
    }
    removeIndex(at);
  }

  /** Removes exactly this value. */
  @SuppressWarnings("ReferenceEquality") // this object, not one like it
  void remove(long start, T value) {
    for (int i = floor(start); i >= 0 && starts[i] == start; i--) {
      if (values[i] == value) {
        removeIndex(i);
        return;
      }
    }
    throw new IllegalStateException("not there: 0x" + Long.toHexString(start));
  }

  void forEach(Consumer<? super T> action) {
    for (int i = 0; i < size; i++) {
      action.accept(valueAt(i));
    }
  }

  List<T> toList() {
    List<T> all = new ArrayList<>(size);
    forEach(all::add);
    return all;
  }

  private void removeIndex(int at) {
    size--;
    System.arraycopy(starts, at + 1, starts, at, size - at);
    System.arraycopy(ends, at + 1, ends, at, size - at);
    System.arraycopy(values, at + 1, values, at, size - at);
    values[size] = null;
    if (size == 0) {
      longest = 0;
    }
  }

  private int indexAt(long address) {
    int i = floor(address);
    while (i >= 0 && starts[i] + longest > address) {
      if (ends[i] > address) {
        return i;
      }
      i--;
    }
    return -1;
  }

  /** Index of the last range that starts at or before the address, or -1. */
  private int floor(long address) {
    int low = 0;
    int high = size - 1;
    while (low <= high) {
      int middle = (low + high) >>> 1;
      if (starts[middle] <= address) {
        low = middle + 1;
      } else {
        high = middle - 1;
      }
    }
    return high;
  }

  @SuppressWarnings({"unchecked", "NullAway"}) // below size every value is a T
  private T valueAt(int index) {
    return (T) values[index];
  }
}
