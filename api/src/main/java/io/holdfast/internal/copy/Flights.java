package io.holdfast.internal.copy;

import java.util.List;

/**
 * The submissions of a lane that are in the air, by number: a ring that grows when all of it is.
 * One thread at a time takes the next; any thread looks at one that it knows to be in the air.
 */
final class Flights {
  private static final int FIRST = 16;

  private volatile Flight[] ring = made(FIRST);

  private static Flight[] made(int count) {
    Flight[] made = new Flight[count];
    for (int i = 0; i < count; i++) {
      made[i] = new Flight();
    }
    return made;
  }

  private static Flight of(Flight[] ring, long sequence) {
    return ring[(int) sequence & ring.length - 1];
  }

  /** One submission's; another's where that has ended. */
  Flight of(long sequence) {
    return of(ring, sequence);
  }

  /**
   * That of the next number.
   *
   * @param sequence one more than the last
   * @param completed all up to it have ended
   */
  Flight next(long sequence, long completed) {
    Flight[] now = ring;
    if (sequence - completed > now.length) {
      Flight[] more = made(2 * now.length);
      for (long each = sequence - now.length; each < sequence; each++) {
        more[(int) each & more.length - 1] = of(now, each);
      }
      ring = more;
      now = more;
    }
    return of(now, sequence);
  }

  /** Every one, in no order. */
  List<Flight> all() {
    return List.of(ring);
  }
}
