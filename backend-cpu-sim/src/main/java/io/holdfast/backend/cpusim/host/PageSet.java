package io.holdfast.backend.cpusim.host;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Which pages of a mapping or file exist, and on which node each is; as runs, so that terabytes
 * need no more room than their number of placements. Guarded by the host's lock.
 */
final class PageSet {
  final long pageBytes;

  private final NavigableMap<Long, Run> runs = new TreeMap<>();

  /** Runs that the owner has given up while children still have them. */
  private final List<Run> orphans = new ArrayList<>();

  private int children;
  private boolean ownerGone;

  PageSet(long pageBytes) {
    this.pageBytes = pageBytes;
  }

  /**
   * Pages that lie alike.
   *
   * @param first the first page
   * @param end one behind the last
   * @param turns nodes turn by turn, beginning with page 0 of the set; one node as a rule
   */
  @SuppressWarnings(
      "ArrayRecordComponent") // never compared, and made once for all runs of a policy
  record Run(long first, long end, int[] turns) {
    long pages() {
      return end - first;
    }

    int nodeOf(long page) {
      return turns[(int) (page % turns.length)];
    }

    /** Pages on each node. */
    void count(Map<Integer, Long> into) {
      if (turns.length == 1) {
        into.merge(turns[0], pages(), Long::sum);
        return;
      }
      long whole = pages() / turns.length;
      if (whole > 0) {
        for (int node : turns) {
          into.merge(node, whole, Long::sum);
        }
      }
      for (long page = first + whole * turns.length; page < end; page++) {
        into.merge(nodeOf(page), 1L, Long::sum);
      }
    }
  }

  /** A stretch of pages. */
  record Stretch(long first, long end) {
    long pages() {
      return end - first;
    }
  }

  /** The node of a page, or empty where it does not exist. */
  @Nullable Integer nodeOf(long page) {
    Map.Entry<Long, Run> at = runs.floorEntry(page);
    return at == null || at.getValue().end <= page ? null : at.getValue().nodeOf(page);
  }

  /** Stretches without pages. */
  List<Stretch> holes(long first, long end) {
    List<Stretch> holes = new ArrayList<>();
    long at = first;
    Map.Entry<Long, Run> floor = runs.floorEntry(first);
    if (floor != null && floor.getValue().end > at) {
      at = floor.getValue().end;
    }
    for (Run run : runs.tailMap(first, false).values()) {
      if (run.first >= end) {
        break;
      }
      if (run.first > at) {
        holes.add(new Stretch(at, run.first));
      }
      at = Math.max(at, run.end);
    }
    if (at < end) {
      holes.add(new Stretch(at, end));
    }
    return holes;
  }

  /** How many pages of a stretch are not there; none where it is empty. */
  long missing(long first, long end) {
    return first >= end ? 0 : holes(first, end).stream().mapToLong(Stretch::pages).sum();
  }

  /** Pages that are there now; neighbours that lie alike become one run. */
  void add(Run run) {
    Run grown = run;
    Map.Entry<Long, Run> before = runs.lowerEntry(run.first);
    if (before != null && before.getValue().end == run.first && alike(before.getValue(), run)) {
      grown = new Run(before.getValue().first, grown.end, run.turns);
      runs.remove(before.getKey());
    }
    Run after = runs.get(run.end);
    if (after != null && alike(after, run)) {
      grown = new Run(grown.first, after.end, run.turns);
      runs.remove(run.end);
    }
    runs.put(grown.first, grown);
  }

  private static boolean alike(Run one, Run other) {
    return java.util.Arrays.equals(one.turns, other.turns);
  }

  /** Takes pages out; those that a child still has are kept for it, the others are returned. */
  List<Run> remove(long first, long end) {
    List<Run> removed = new ArrayList<>();
    Map.Entry<Long, Run> floor = runs.lowerEntry(first);
    if (floor != null && floor.getValue().end > first) {
      split(floor.getValue(), first);
    }
    floor = runs.lowerEntry(end);
    if (floor != null && floor.getValue().end > end) {
      split(floor.getValue(), end);
    }
    for (Run run : List.copyOf(runs.subMap(first, true, end, false).values())) {
      runs.remove(run.first);
      removed.add(run);
    }
    if (children > 0) {
      orphans.addAll(removed);
      return List.of();
    }
    return removed;
  }

  private void split(Run run, long at) {
    runs.put(run.first, new Run(run.first, at, run.turns));
    runs.put(at, new Run(at, run.end, run.turns));
  }

  /** Pages on each node. */
  Map<Integer, Long> count() {
    Map<Integer, Long> counts = new TreeMap<>();
    runs.values().forEach(run -> run.count(counts));
    return counts;
  }

  long pages() {
    return runs.values().stream().mapToLong(Run::pages).sum();
  }

  /** Pages among a stretch. */
  long pages(long first, long end) {
    long absent = holes(first, end).stream().mapToLong(Stretch::pages).sum();
    return end - first - absent;
  }

  // ---- children

  void fork() {
    children++;
  }

  /** What is free now that a child has ended. */
  List<Run> childEnded() {
    children--;
    if (children > 0) {
      return List.of();
    }
    List<Run> free = new ArrayList<>(orphans);
    orphans.clear();
    if (ownerGone) {
      free.addAll(runs.values());
      runs.clear();
    }
    return free;
  }

  /** What is free now that its owner has ended. */
  List<Run> ownerEnded() {
    ownerGone = true;
    if (children > 0) {
      return List.of();
    }
    List<Run> free = new ArrayList<>(runs.values());
    runs.clear();
    return free;
  }
}
