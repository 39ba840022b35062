package io.holdfast.backend.hip;

import java.lang.foreign.MemorySegment;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/**
 * The first addresses of what this driver has registered.
 *
 * <p>The runtime finds a registration by any address inside of it, and then removes it by the exact
 * key: unregistering by an inner address ends the process in an assertion. A mistake of ours must
 * not, so nothing is unregistered by an address that is not known to be a first one.
 */
final class HipRegistrations {
  private final ConcurrentMap<Long, Integer> bases = new ConcurrentHashMap<>();

  /** It was registered; up to version 7.2 the same range can be so twice. */
  void add(MemorySegment range) {
    bases.merge(range.address(), 1, Integer::sum);
  }

  /**
   * It is to be unregistered; where that fails it is {@linkplain #add added} again.
   *
   * @throws IllegalArgumentException where no range that begins there is registered
   */
  void remove(MemorySegment range) {
    boolean[] known = new boolean[1];
    bases.computeIfPresent(
        range.address(),
        (base, count) -> {
          known[0] = true;
          return count > 1 ? count - 1 : null;
        });
    if (!known[0]) {
      throw new IllegalArgumentException(
          "no range that was registered here begins at 0x%x, and the HIP runtime aborts the process"
                  .formatted(range.address())
              + " for an address inside of one");
    }
  }
}
