package io.holdfast.backend.cpusim.host;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.holdfast.backend.cpusim.host.PageSet.Run;
import io.holdfast.backend.cpusim.host.PageSet.Stretch;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Runs of pages against one entry per page. */
class PageSetTest {
  private static final int PAGES = 120;

  @Test
  void itAnswersAsOneEntryPerPageDoes() {
    for (int seed = 0; seed < 60; seed++) {
      SplittableRandom random = new SplittableRandom(seed);
      PageSet set = new PageSet(4096);
      @Nullable Integer[] oracle = new Integer[PAGES];
      for (int step = 0; step < 200; step++) {
        int first = random.nextInt(PAGES);
        int end = first + 1 + random.nextInt(PAGES - first);
        String where = "seed " + seed + ", step " + step;
        if (random.nextBoolean()) {
          int[] turns = random.nextBoolean() ? new int[] {random.nextInt(3)} : new int[] {0, 1, 2};
          for (Stretch hole : set.holes(first, end)) {
            set.add(new Run(hole.first(), hole.end(), turns));
          }
          for (int page = first; page < end; page++) {
            if (oracle[page] == null) {
              oracle[page] = turns[page % turns.length];
            }
          }
        } else {
          long removed = set.remove(first, end).stream().mapToLong(Run::pages).sum();
          assertEquals(present(oracle, first, end), removed, where);
          for (int page = first; page < end; page++) {
            oracle[page] = null;
          }
        }
        for (int page = 0; page < PAGES; page++) {
          assertEquals(oracle[page], set.nodeOf(page), where + ", page " + page);
        }
        assertEquals(present(oracle, 0, PAGES), set.pages(), where);
        assertEquals(present(oracle, first, end), set.pages(first, end), where);
        assertEquals(counts(oracle), set.count(), where);
        assertEquals(holes(oracle, first, end), set.holes(first, end), where);
      }
    }
  }

  private static long present(@Nullable Integer[] pages, int first, int end) {
    long present = 0;
    for (int page = first; page < end; page++) {
      present += pages[page] == null ? 0 : 1;
    }
    return present;
  }

  private static Map<Integer, Long> counts(@Nullable Integer[] pages) {
    Map<Integer, Long> counts = new TreeMap<>();
    for (Integer node : pages) {
      if (node != null) {
        counts.merge(node, 1L, Long::sum);
      }
    }
    return counts;
  }

  private static List<Stretch> holes(@Nullable Integer[] pages, int first, int end) {
    List<Stretch> holes = new ArrayList<>();
    int begin = -1;
    for (int page = first; page <= end; page++) {
      boolean hole = page < end && pages[page] == null;
      if (hole && begin < 0) {
        begin = page;
      } else if (!hole && begin >= 0) {
        holes.add(new Stretch(begin, page));
        begin = -1;
      }
    }
    return holes;
  }
}
