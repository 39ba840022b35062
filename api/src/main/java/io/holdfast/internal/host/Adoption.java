package io.holdfast.internal.host;

import io.holdfast.device.Demand;
import io.holdfast.host.HostRequest;
import io.holdfast.host.PageKind;
import io.holdfast.internal.core.CoreBackend;
import io.holdfast.internal.host.Receipts.Making;
import io.holdfast.internal.host.Receipts.Verdict;
import io.holdfast.internal.tree.Standing;
import io.holdfast.layout.ByteRange;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.HostKernel.Pages;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;

/** Takes somebody else's memory as a region, where it can be one. */
final class Adoption {
  private Adoption() {}

  static StandardRegion of(
      MemorySegment foreign,
      HostKernel kernel,
      Machine machine,
      Receipts receipts,
      CoreBackend backend) {
    Objects.requireNonNull(foreign, "foreign");
    requireUsable(foreign);
    long page = kernel.basePageBytes();
    requireWholePages(foreign, page, "the operating system's");
    if (kernel.pages() == Pages.KERNEL) {
      Smaps smaps = Smaps.of(kernel, foreign.address(), foreign.byteSize());
      if (smaps.found() && smaps.kernelPageBytes() > page) {
        page = smaps.kernelPageBytes();
        requireWholePages(foreign, page, "its own");
      }
    }
    HostRequest request =
        HostRequest.ofBytes(foreign.byteSize())
            .placement(Demand.OFF)
            .fork(HostRequest.Fork.COPY_TO_CHILDREN);
    Wish wish =
        new Wish(
            page == kernel.basePageBytes() ? request : request.pages(PageKind.hugeTlb(page)),
            page == kernel.basePageBytes() ? Wish.Backing.ADOPTED : Wish.Backing.HUGETLB,
            page,
            foreign.byteSize(),
            Placement.resolve(request, kernel, machine),
            Optional.empty());
    StandardRegion region =
        Standing.enrolled(
            new StandardRegion(
                wish.request(),
                page,
                new AdoptedMemory(foreign),
                Views.of(foreign),
                new Watermark(foreign.byteSize()),
                backend.workers(),
                backend.standing()));
    region.count(backend.journal(), Duration.ZERO);
    Making making =
        new Making(
            Duration.ZERO,
            Duration.ZERO,
            0,
            List.of(
                "adopted: its owner maps, populates, keeps it from children and unmaps it, not"
                    + " before this region is closed"));
    Verdict verdict = receipts.of(wish, foreign, making);
    region.succeed(verdict.noted());
    return region.awaitReady();
  }

  private static void requireUsable(MemorySegment foreign) {
    if (!foreign.isNative()) {
      throw new IllegalArgumentException("heap memory moves, so it cannot be pinned");
    }
    if (foreign.isReadOnly()) {
      throw new IllegalArgumentException("read-only memory cannot take what a device stores");
    }
    if (!foreign.scope().isAlive()) {
      throw new IllegalArgumentException("its arena is closed");
    }
    // Copies and pins run on other threads than the owner's.
    if (!foreign.isAccessibleBy(new Thread(() -> {}))) {
      throw new IllegalArgumentException(
          "memory of a confined arena belongs to one thread; use a shared or automatic arena");
    }
  }

  private static void requireWholePages(MemorySegment foreign, long page, String whose) {
    if (foreign.byteSize() == 0
        || foreign.byteSize() % page != 0
        || foreign.address() % page != 0) {
      throw new IllegalArgumentException(
          String.format(
              Locale.ROOT,
              "%d bytes at 0x%x are not whole pages; %s page has %d bytes",
              foreign.byteSize(),
              foreign.address(),
              whose,
              page));
    }
  }

  /** Memory that its owner unmaps. */
  private record AdoptedMemory(MemorySegment pages) implements RegionMemory {
    @Override
    public void giveBack(ByteRange range) {}
  }
}
