package io.holdfast.backend.hip;

import java.lang.foreign.MemorySegment;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;

/**
 * What this driver has registered, by first addresses.
 *
 * <p>The runtime finds a registration by any address inside of it, and then removes it by the exact
 * key: unregistering by an inner address ends the process in an assertion. A mistake of ours must
 * not, so an address inside of a range that is known does not reach the runtime. All others do:
 * their answer is the runtime's. Any thread.
 */
final class HipRegistrations {
  private final ConcurrentSkipListMap<Long, Registered> ranges = new ConcurrentSkipListMap<>();

  /** Up to version 7.2 the same range can be registered more than once. */
  private record Registered(long bytes, int times) {}

  /** It was registered. */
  void add(MemorySegment range) {
    ranges.merge(
        range.address(),
        new Registered(range.byteSize(), 1),
        (old, one) -> new Registered(Math.max(old.bytes(), one.bytes()), old.times() + 1));
  }

  /**
   * It is to be unregistered; where that fails it is {@linkplain #add added} again.
   *
   * @return whether it is known
   * @throws IllegalArgumentException where it begins inside of a known range
   */
  boolean remove(MemorySegment range) {
    Map.Entry<Long, Registered> before = ranges.floorEntry(range.address());
    if (before == null || range.address() >= before.getKey() + before.getValue().bytes()) {
      return false;
    }
    if (before.getKey() != range.address()) {
      throw new IllegalArgumentException(
          String.format(
                  Locale.ROOT,
                  "0x%x lies inside of the registration at 0x%x, and the HIP runtime aborts the"
                      + " process",
                  range.address(),
                  before.getKey())
              + " when that is unregistered by an inner address");
    }
    ranges.computeIfPresent(
        range.address(),
        (base, known) ->
            known.times() > 1 ? new Registered(known.bytes(), known.times() - 1) : null);
    return true;
  }
}
