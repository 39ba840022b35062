package io.holdfast.internal.host;

import io.holdfast.error.HostKernelException;
import io.holdfast.host.HostRequest.Touch;
import io.holdfast.host.PlacementReceipt;
import io.holdfast.internal.host.Wish.Backing;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.HostKernel.NodeMode;
import io.holdfast.spi.HostKernel.Pages;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;

/** Asks the kernel what a region really got, and compares that with what was asked. */
final class Receipts {
  // Up to this many pages each one is asked about; above, so many are drawn, one from each of as
  // many equal stretches.
  private static final int MOST_ASKED = 65_536;

  // How far one node's share may be from what turns of equal pages give.
  private static final double SHARE_TOLERANCE = 0.1;

  // How often pages that the kernel hides for a moment are looked for again.
  private static final int LOOKS = 3;

  private final HostKernel kernel;
  private final Machine machine;

  Receipts(HostKernel kernel, Machine machine) {
    this.kernel = kernel;
    this.machine = machine;
  }

  /**
   * A receipt, and in what it disagrees with the request.
   *
   * @param receipt what the kernel says
   * @param disagreement one clause, or empty
   */
  record Verdict(PlacementReceipt receipt, Optional<String> disagreement) {
    /** The receipt with the disagreement among its notes. */
    PlacementReceipt noted() {
      if (disagreement.isEmpty()) {
        return receipt;
      }
      List<String> notes = new ArrayList<>(receipt.notes());
      notes.add("not as asked: " + disagreement.get());
      return new PlacementReceipt(
          receipt.bytesPerNode(),
          receipt.bytesPerPageSize(),
          receipt.sampledShare(),
          receipt.bytesElsewhere(),
          receipt.map(),
          receipt.populate(),
          receipt.populateThreads(),
          notes);
    }
  }

  /** How making the memory went. */
  record Making(Duration map, Duration populate, int threads, List<String> notes) {}

  /** Asks about memory that was populated, or that comes lazily. */
  Verdict of(Wish wish, MemorySegment memory, Making making) {
    List<String> notes = new ArrayList<>(making.notes());
    if (kernel.pages() == Pages.PLAIN) {
      PlacementReceipt plain =
          new PlacementReceipt(
              Map.of(), Map.of(), 0, 0, making.map(), making.populate(), making.threads(), notes);
      return new Verdict(plain, Optional.empty());
    }
    Nodes nodes = nodes(wish, memory, notes);
    Smaps smaps = smaps(wish, memory);
    Map<Long, Long> sizes = pageSizes(wish, memory, nodes, smaps, notes);
    long elsewhere =
        nodes.bytes.entrySet().stream()
            .filter(entry -> !wanted(wish).contains(entry.getKey()))
            .mapToLong(Map.Entry::getValue)
            .sum();
    Optional<String> disagreement = disagreement(wish, nodes, smaps, elsewhere);
    PlacementReceipt receipt =
        new PlacementReceipt(
            nodes.bytes,
            sizes,
            nodes.share,
            elsewhere,
            making.map(),
            making.populate(),
            making.threads(),
            notes);
    return new Verdict(receipt, disagreement);
  }

  // The text counts page tables of the whole process up to this mapping: not where the answer can
  // only be one.
  private Smaps smaps(Wish wish, MemorySegment memory) {
    return wish.backing() == Backing.BASE && !machine.hugePagesUnasked()
        ? new Smaps(true, false, wish.pageBytes(), 0, OptionalLong.empty())
        : whole(wish, memory);
  }

  // Automatic NUMA balancing takes the access bits of pages to learn who uses them, and until the
  // next access some kernels (6.1 for one) count such a huge page as absent.
  private Smaps whole(Wish wish, MemorySegment memory) {
    Smaps seen = Smaps.of(kernel, memory.address(), memory.byteSize());
    for (int again = 0; again < LOOKS && hidesPages(wish, memory, seen); again++) {
      long huge = machine.transparentHugePageBytes();
      for (long at = 0; at < memory.byteSize(); at += huge) {
        long _ = memory.get(ValueLayout.JAVA_LONG, at);
      }
      seen = Smaps.of(kernel, memory.address(), memory.byteSize());
    }
    return seen;
  }

  private static boolean hidesPages(Wish wish, MemorySegment memory, Smaps seen) {
    boolean populated = wish.request().touch() == Touch.BEFORE_USE;
    boolean mayBeHuge =
        switch (wish.backing()) {
          case BASE, TRANSPARENT, TMPFS -> true;
          case HUGETLB, HUGETLBFS, OTHER_FILES, DRIVER, ADOPTED -> false;
        };
    return populated
        && mayBeHuge
        && !seen.isShared()
        && seen.residentBytes().orElse(Long.MAX_VALUE) < memory.byteSize();
  }

  // A preferred node is wanted although others may be taken.
  private static Set<Integer> wanted(Wish wish) {
    Placement placement = wish.placement();
    return placement.mode().isPresent() ? placement.nodes() : placement.confinedTo();
  }

  private Optional<String> disagreement(Wish wish, Nodes nodes, Smaps smaps, long elsewhere) {
    if (wish.backing().isPool() && smaps.found() && smaps.kernelPageBytes() != wish.pageBytes()) {
      return Optional.of(
          "the kernel backs the region with pages of "
              + PageSizes.text(smaps.kernelPageBytes())
              + ", not "
              + PageSizes.text(wish.pageBytes()));
    }
    Placement placement = wish.placement();
    boolean mayLieElsewhere =
        placement.mode().isPresent() && placement.mode().get() == NodeMode.PREFERRED;
    if (elsewhere > 0 && !mayLieElsewhere) {
      return Optional.of(
          elsewhere
              + " bytes lie elsewhere than on "
              + NumberList.nodes(wanted(wish))
              + ": "
              + nodes.bytes);
    }
    return unequal(wish, nodes);
  }

  private Optional<String> unequal(Wish wish, Nodes nodes) {
    long total = nodes.bytes.values().stream().mapToLong(Long::longValue).sum();
    // Turns are taken by huge pages where there are any.
    long turn =
        wish.backing() == Backing.TRANSPARENT
                || wish.backing() == Backing.TMPFS
                || (wish.backing() == Backing.BASE && machine.hugePagesUnasked())
            ? Math.max(wish.pageBytes(), machine.transparentHugePageBytes())
            : wish.pageBytes();
    for (Map.Entry<Integer, Double> share : wish.placement().shares().entrySet()) {
      double expected = total * share.getValue();
      long got = nodes.bytes.getOrDefault(share.getKey(), 0L);
      if (Math.abs(got - expected) > SHARE_TOLERANCE * expected + 2 * turn) {
        return Optional.of(
            "node "
                + share.getKey()
                + " has "
                + got
                + " bytes, its turns come to "
                + Math.round(expected)
                + ": "
                + nodes.bytes);
      }
    }
    return Optional.empty();
  }

  /** Bytes by node, bytes that are not there, and what share of the pages was asked about. */
  private record Nodes(Map<Integer, Long> bytes, long absent, double share) {}

  private Nodes nodes(Wish wish, MemorySegment memory, List<String> notes) {
    long pages = memory.byteSize() / wish.pageBytes();
    int asked = (int) Math.min(pages, MOST_ASKED);
    long[] offsets = offsets(pages, asked, wish.pageBytes());
    int[] answers;
    try {
      answers = kernel.nodesAt(memory, offsets);
    } catch (HostKernelException refused) {
      return nodesByNumaMaps(memory, refused, notes);
    }
    Map<Integer, Long> counts = new TreeMap<>();
    int absent = 0;
    for (int answer : answers) {
      if (answer < 0) {
        absent++;
      } else {
        counts.merge(answer, 1L, Long::sum);
      }
    }
    if (absent > 0 && wish.request().touch() == Touch.BEFORE_USE) {
      Optional<Nodes> whole = hidden(memory, scaled(asked - absent, asked, pages, wish));
      if (whole.isPresent()) {
        notes.add(
            "nodes are by /proc/self/numa_maps; move_pages did not see "
                + absent
                + " of "
                + asked
                + " pages that are there, as under automatic NUMA balancing on some kernels");
        return whole.get();
      }
    }
    if (asked < pages) {
      notes.add(
          String.format(
              Locale.ROOT,
              "%d of %d pages were asked for their node; with 99.9 %% confidence a kind of page"
                  + " that was not seen is less than %.4f %% of all",
              asked,
              pages,
              // Of n independent draws none hits a share s with probability (1 - s)^n.
              100 * (1 - Math.pow(0.001, 1.0 / asked))));
    }
    if (absent > 0) {
      notes.add(absent + " of " + asked + " pages asked about are not present");
    }
    Map<Integer, Long> bytes = new TreeMap<>();
    counts.forEach((node, count) -> bytes.put(node, scaled(count, asked, pages, wish)));
    return new Nodes(bytes, scaled(absent, asked, pages, wish), (double) asked / pages);
  }

  // The other account, where it has pages of this mapping alone that move_pages did not see.
  private Optional<Nodes> hidden(MemorySegment memory, long seenBytes) {
    Optional<NumaMaps> found = NumaMaps.of(kernel, memory.address());
    if (found.isEmpty()) {
      return Optional.empty();
    }
    long there = found.get().bytesPerNode().values().stream().mapToLong(Long::longValue).sum();
    return there > seenBytes && there <= memory.byteSize()
        ? Optional.of(new Nodes(found.get().bytesPerNode(), memory.byteSize() - there, 1.0))
        : Optional.empty();
  }

  private static long scaled(long count, int asked, long pages, Wish wish) {
    // Never more than 2^16 times the pages of a region, which a long can hold.
    return count * pages / asked * wish.pageBytes();
  }

  private static long[] offsets(long pages, int asked, long pageBytes) {
    long[] offsets = new long[asked];
    SplittableRandom random = new SplittableRandom(pages);
    for (int i = 0; i < asked; i++) {
      long from = pages * i / asked;
      long to = pages * (i + 1) / asked;
      offsets[i] = (to - from == 1 ? from : random.nextLong(from, to)) * pageBytes;
    }
    return offsets;
  }

  // Containers often forbid move_pages; numa_maps says the same by counting every page.
  private Nodes nodesByNumaMaps(
      MemorySegment memory, HostKernelException refused, List<String> notes) {
    Optional<NumaMaps> found = NumaMaps.of(kernel, memory.address());
    if (found.isEmpty()) {
      notes.add("the kernel does not say on which nodes pages lie: " + refused.errnoName());
      return new Nodes(Map.of(), 0, 0);
    }
    notes.add("nodes are by /proc/self/numa_maps; move_pages answered " + refused.errnoName());
    Map<Integer, Long> bytes = found.get().bytesPerNode();
    long present = bytes.values().stream().mapToLong(Long::longValue).sum();
    return new Nodes(bytes, Math.max(0, memory.byteSize() - present), 1.0);
  }

  private Map<Long, Long> pageSizes(
      Wish wish, MemorySegment memory, Nodes nodes, Smaps smaps, List<String> notes) {
    if (!smaps.found()) {
      notes.add("the kernel does not say what pages back the region (no /proc/self/smaps entry)");
      return Map.of();
    }
    Map<Long, Long> sizes = new TreeMap<>();
    long present = memory.byteSize() - nodes.absent;
    long huge = Math.min(present, smaps.hugeBytes());
    if (smaps.isShared()) {
      notes.add(
          "the kernel counts the region together with what lies beside it; the share of huge pages"
              + " is of both");
    }
    if (huge > 0) {
      sizes.put(machine.transparentHugePageBytes(), huge);
    }
    if (present > huge) {
      sizes.put(smaps.kernelPageBytes(), present - huge);
    }
    if (wish.backing() == Backing.TRANSPARENT && present > 0) {
      notes.add(
          String.format(
              Locale.ROOT,
              "huge pages back %.1f %% of the region (transparent_hugepage is %s)",
              100.0 * huge / present,
              machine.choice("/sys/kernel/mm/transparent_hugepage/enabled").orElse("not known")));
    }
    return sizes;
  }
}
