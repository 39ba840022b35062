package io.holdfast.internal.host;

import io.holdfast.device.Demand;
import io.holdfast.error.HostKernelException;
import io.holdfast.host.PlacementException;
import io.holdfast.host.Shortfall;
import io.holdfast.host.ShortfallException;
import io.holdfast.internal.event.Journal;
import io.holdfast.internal.host.LimitCheck.Credit;
import io.holdfast.internal.host.Populator.Job;
import io.holdfast.internal.host.Populator.Stats;
import io.holdfast.internal.host.Receipts.Making;
import io.holdfast.internal.host.Receipts.Verdict;
import io.holdfast.internal.host.Wish.Backing;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.HostKernel.Pages;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;

/** Populates regions, and tells each what came of it: a receipt, or a reason. */
final class Filler {
  // What all populate threads together can take between two looks at memory that can run out.
  private static final long GUARD_BYTES = 512L << 20;

  private final HostKernel kernel;
  private final Machine machine;
  private final LimitCheck limits;
  private final Mapper mapper;
  private final Receipts receipts;
  private final Journal journal;
  private final AtomicBoolean populateUnknown = new AtomicBoolean();

  Filler(
      HostKernel kernel,
      Machine machine,
      LimitCheck limits,
      Mapper mapper,
      Receipts receipts,
      Journal journal) {
    this.kernel = kernel;
    this.machine = machine;
    this.limits = limits;
    this.mapper = mapper;
    this.receipts = receipts;
    this.journal = journal;
  }

  /**
   * Begins; returns at once.
   *
   * @param region hears the end
   * @param wish what was asked of these pages
   * @param pages what to populate
   * @param file whose space is to be taken, closed at the end
   * @param watermark follows
   * @param making how it went so far
   */
  void fill(
      StandardRegion region,
      Wish wish,
      MemorySegment pages,
      Optional<TakenFile> file,
      Watermark watermark,
      Making making) {
    new Filling(region, wish, pages, file, watermark, making).start();
  }

  /** Asks the kernel what was got, and tells the region. */
  void report(StandardRegion region, Wish wish, MemorySegment pages, Making making) {
    try {
      Verdict verdict = receipts.of(wish, pages, making);
      if (verdict.disagreement().isPresent() && wish.request().placement() == Demand.REQUIRE) {
        region.fail(new PlacementException(verdict.disagreement().get(), verdict.receipt()));
      } else {
        region.succeed(verdict.noted());
      }
    } catch (RuntimeException failure) {
      region.fail(failure);
    }
  }

  /** Populating one region, and what comes of it. */
  private final class Filling implements Populator.Listener {
    private final StandardRegion region;
    private final Wish wish;
    private final MemorySegment pages;
    private final Optional<TakenFile> file;
    private final Watermark watermark;
    private final Making making;

    Filling(
        StandardRegion region,
        Wish wish,
        MemorySegment pages,
        Optional<TakenFile> file,
        Watermark watermark,
        Making making) {
      this.region = region;
      this.wish = wish;
      this.pages = pages;
      this.file = file;
      this.watermark = watermark;
      this.making = making;
    }

    void start() {
      boolean transparent = wish.backing() == Backing.TRANSPARENT;
      long page = wish.pageBytes();
      Job job =
          new Job(
              pages,
              page,
              transparent ? Math.max(page, machine.transparentHugePageBytes()) : page,
              wish.placement().workers(),
              !wish.backing().isPool(),
              transparent && kernel.pages() == Pages.KERNEL,
              this::guard,
              file.isPresent() ? file.get() : (from, bytes) -> {},
              populateUnknown);
      region.populateBy(new Populator(kernel, job, watermark, this));
    }

    // A pool has promised its pages; all other memory can run out under our hands.
    private void guard() {
      long left = wish.mappedBytes() - watermark.fromStart();
      Optional<Shortfall> missing = limits.ahead(wish, Math.min(left, GUARD_BYTES));
      if (missing.isPresent()) {
        throw new ShortfallException("PageSource.map", missing.get(), null);
      }
    }

    @Override
    public void populated(Stats stats) {
      file.ifPresent(TakenFile::close);
      List<String> notes = new ArrayList<>(making.notes());
      notes.addAll(stats.notes());
      stats.notes().forEach(note -> journal.fallback(region, note));
      notes.addAll(wish.placement().notes());
      report(region, wish, pages, new Making(making.map(), stats.took(), stats.threads(), notes));
    }

    @Override
    public void failed(Throwable reason) {
      RuntimeException explained;
      if (reason instanceof HostKernelException refused) {
        Wish now = file.isPresent() ? file.get().asOfNow(wish) : wish;
        explained = mapper.explained(now, credit(), refused);
      } else if (reason instanceof RuntimeException exception) {
        explained = exception;
      } else {
        explained = new IllegalStateException("populating failed: " + reason, reason);
      }
      file.ifPresent(TakenFile::close);
      region.fail(explained);
    }

    private Credit credit() {
      if (!wish.backing().isPool()) {
        return new Credit(watermark.fromStart(), watermark.fromStart());
      }
      try {
        long present = 0;
        for (int node : kernel.nodes(pages, wish.pageBytes())) {
          present += node >= 0 ? wish.pageBytes() : 0;
        }
        return new Credit(wish.mappedBytes(), present);
      } catch (HostKernelException untold) {
        return new Credit(wish.mappedBytes(), watermark.fromStart());
      }
    }
  }
}
