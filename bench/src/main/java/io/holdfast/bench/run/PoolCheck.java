package io.holdfast.bench.run;

import io.holdfast.bench.tool.ByteCount;
import io.holdfast.bench.tool.RefusedException;
import io.holdfast.host.PageKind;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;

/** Whether a machine has the pages and the memory that a run wants, before anything runs. */
public final class PoolCheck {
  private final Facts facts;

  /**
   * A check of a machine.
   *
   * @param facts its facts
   */
  public PoolCheck(Facts facts) {
    this.facts = facts;
  }

  /**
   * Whether a pool of so many bytes can be had on these pages.
   *
   * @param pages a kind
   * @param bytes of the pool
   * @return false where a HugeTLB pool is missing or too small
   */
  public boolean holds(PageKind pages, long bytes) {
    return !(pages instanceof PageKind.HugeTlb huge)
        || facts.freePages(huge.pageBytes()).orElse(0) >= Math.ceilDiv(bytes, huge.pageBytes());
  }

  /**
   * Refuses when a pool is too small.
   *
   * @param pages kinds that were asked for
   * @param bytes of the largest pool
   * @throws RefusedException naming every pool, its shortfall and the command that raises it
   */
  public void require(List<PageKind> pages, long bytes) {
    List<String> problems = new ArrayList<>();
    for (PageKind kind : pages) {
      if (kind instanceof PageKind.HugeTlb huge && !holds(kind, bytes)) {
        problems.add(shortfall(huge.pageBytes(), bytes));
      }
    }
    OptionalLong available = facts.availableBytes();
    boolean fromMemory = pages.stream().anyMatch(kind -> !(kind instanceof PageKind.HugeTlb));
    if (fromMemory && available.isPresent() && available.getAsLong() < bytes + bytes / 4) {
      problems.add(
          ByteCount.describe(available.getAsLong())
              + " of memory are available and a pool of "
              + ByteCount.describe(bytes)
              + " needs a quarter more than itself; give a smaller --bytes");
    }
    if (!problems.isEmpty()) {
      throw new RefusedException(String.join("\n  ", problems));
    }
  }

  private String shortfall(long pageBytes, long bytes) {
    long needed = Math.ceilDiv(bytes, pageBytes);
    OptionalLong free = facts.freePages(pageBytes);
    String size = ByteCount.describe(pageBytes);
    if (free.isEmpty()) {
      return "this kernel has no pool of " + size + " pages; leave them out of --pages";
    }
    return needed
        + " free pages of "
        + size
        + " are needed and "
        + free.getAsLong()
        + " are there: echo "
        + (facts.allPages(pageBytes).orElse(0) - free.getAsLong() + needed)
        + " | sudo tee /sys/kernel/mm/hugepages/"
        + Facts.poolName(pageBytes)
        + "/nr_hugepages (put it back afterwards), or leave them out of --pages";
  }
}
