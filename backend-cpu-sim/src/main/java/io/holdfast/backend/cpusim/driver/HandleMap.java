package io.holdfast.backend.cpusim.driver;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Values by handle, open addressing; looking up allocates nothing. 0 is no handle. Not thread-safe.
 */
final class HandleMap<T> {
  private static final int FIRST_CAPACITY = 64;

  private long[] keys = new long[FIRST_CAPACITY];
  private @Nullable Object[] values = new Object[FIRST_CAPACITY];
  private int size;

  int size() {
    return size;
  }

  @Nullable T get(long handle) {
    int at = find(handle);
    return keys[at] == 0 || handle == 0 ? null : valueAt(at);
  }

  void put(long handle, T value) {
    if (size * 2 >= keys.length) {
      grow();
    }
    int at = find(handle);
    if (keys[at] == 0) {
      keys[at] = handle;
      size++;
    }
    values[at] = value;
  }

  @Nullable T remove(long handle) {
    int at = find(handle);
    if (handle == 0 || keys[at] == 0) {
      return null;
    }
    T gone = valueAt(at);
    size--;
    // entries behind the gap move up, so that no search stops too early
    int gap = at;
    int next = step(at);
    while (keys[next] != 0) {
      int home = home(keys[next]);
      boolean movable = gap <= next ? home <= gap || home > next : home <= gap && home > next;
      if (movable) {
        keys[gap] = keys[next];
        values[gap] = values[next];
        gap = next;
      }
      next = step(next);
    }
    keys[gap] = 0;
    values[gap] = null;
    return gone;
  }

  /** All values, by ascending handle. */
  List<T> toList() {
    long[] sorted = Arrays.stream(keys).filter(key -> key != 0).sorted().toArray();
    List<T> all = new ArrayList<>(sorted.length);
    for (long key : sorted) {
      all.add(valueAt(find(key)));
    }
    return all;
  }

  void removeIf(Predicate<? super T> condition) {
    for (long key : keys.clone()) {
      T value = key == 0 ? null : get(key);
      if (value != null && condition.test(value)) {
        remove(key);
      }
    }
  }

  void clear() {
    Arrays.fill(keys, 0);
    Arrays.fill(values, null);
    size = 0;
  }

  private void grow() {
    long[] oldKeys = keys;
    @Nullable Object[] oldValues = values;
    keys = new long[oldKeys.length * 2];
    values = new Object[oldKeys.length * 2];
    for (int i = 0; i < oldKeys.length; i++) {
      if (oldKeys[i] != 0) {
        int at = find(oldKeys[i]);
        keys[at] = oldKeys[i];
        values[at] = oldValues[i];
      }
    }
  }

  private int find(long handle) {
    int at = home(handle);
    while (keys[at] != 0 && keys[at] != handle) {
      at = step(at);
    }
    return at;
  }

  private int home(long handle) {
    return (int) ((handle * 0x9E3779B97F4A7C15L) >>> 40) & (keys.length - 1);
  }

  private int step(int at) {
    return (at + 1) & (keys.length - 1);
  }

  @SuppressWarnings({"unchecked", "NullAway"}) // where there is a key there is a T
  private T valueAt(int index) {
    return (T) values[index];
  }
}
