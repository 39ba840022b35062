package io.holdfast.backend.cpusim.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** The interval map against a list that is searched from end to end. */
class IntervalMapTest {
  private record Range(long start, long end) {}

  @Test
  void itAnswersAsAPlainListDoes() {
    for (int seed = 0; seed < 50; seed++) {
      SplittableRandom random = new SplittableRandom(seed);
      boolean mayOverlap = seed % 2 == 1;
      IntervalMap<Range> map = new IntervalMap<>();
      List<Range> oracle = new ArrayList<>();
      for (int step = 0; step < 400; step++) {
        long start = 1 + random.nextInt(300);
        Range range = new Range(start, start + 1 + random.nextInt(20));
        boolean overlaps =
            oracle.stream().anyMatch(r -> r.start < range.end && r.end > range.start);
        String where = "seed " + seed + ", step " + step;
        assertEquals(overlaps, map.overlaps(range.start, range.end), where);
        boolean taken = oracle.stream().anyMatch(r -> r.start == range.start);
        if (!taken && (mayOverlap || !overlaps) && random.nextBoolean()) {
          map.put(range.start, range.end, range);
          oracle.add(range);
        } else if (!oracle.isEmpty() && random.nextInt(3) == 0) {
          Range gone = oracle.remove(random.nextInt(oracle.size()));
          map.remove(gone.start, gone);
        }
        long address = 1 + random.nextInt(330);
        assertEquals(
            oracle.stream()
                .filter(r -> r.start <= address && address < r.end)
                .max(Comparator.comparingLong(Range::start))
                .orElse(null),
            map.at(address),
            where);
        assertEquals(
            oracle.stream()
                .filter(r -> r.start >= address)
                .min(Comparator.comparingLong(Range::start))
                .orElse(null),
            map.from(address),
            where);
        assertEquals(oracle.size(), map.size());
        checkGap(map, oracle, 1 + random.nextInt(40), 1L << random.nextInt(4), where);
      }
    }
  }

  private static void checkGap(
      IntervalMap<Range> map, List<Range> oracle, long bytes, long alignment, String where) {
    long expected = -1;
    for (long at = 0; at + bytes <= 400 && expected < 0; at += alignment) {
      long start = at;
      if (oracle.stream().noneMatch(r -> r.start < start + bytes && r.end > start)) {
        expected = at;
      }
    }
    assertEquals(expected, map.gap(0, 400, bytes, alignment), where);
  }

  @Test
  void removingWhatIsNotThereIsABug() {
    IntervalMap<Range> map = new IntervalMap<>();
    map.put(10, 20, new Range(10, 20));
    assertTrue(
        org.junit.jupiter.api.Assertions.assertThrows(
                IllegalStateException.class, () -> map.remove(11))
            .getMessage()
            .contains("0xb"));
  }
}
