package io.holdfast.internal.host;

import io.holdfast.error.UnsupportedException;
import io.holdfast.event.Activity;
import io.holdfast.host.HostRegion;
import io.holdfast.host.HostRequest;
import io.holdfast.host.HostRequest.Touch;
import io.holdfast.host.HostSurvey;
import io.holdfast.host.PageKind;
import io.holdfast.host.PageSource;
import io.holdfast.host.SharedRegion;
import io.holdfast.host.SharedRequest;
import io.holdfast.host.Shortfall;
import io.holdfast.host.ShortfallException;
import io.holdfast.internal.Folders;
import io.holdfast.internal.core.CoreBackend;
import io.holdfast.internal.core.CoreDevice;
import io.holdfast.internal.host.LimitCheck.Credit;
import io.holdfast.internal.host.Mapper.Mapped;
import io.holdfast.internal.host.Receipts.Making;
import io.holdfast.internal.host.Wish.Backing;
import io.holdfast.internal.tree.Standing;
import io.holdfast.layout.ByteRange;
import io.holdfast.spi.HostAllocationPort;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.HostKernel.DirectoryHandle;
import io.holdfast.spi.Traits.PinModel;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Function;
import java.util.function.Supplier;

/** The standard page source: limits, mapping, placement, populate, receipt, in this order. */
public final class StandardPageSource implements PageSource {
  private final CoreBackend backend;
  private final HostKernel kernel;
  private final Machine machine;
  private final LimitCheck limits;
  private final Mapper mapper;
  private final Receipts receipts;
  private final Filler filler;

  /**
   * Over a backend's kernel.
   *
   * @param backend whose kernel, threads and place in the tree
   */
  public StandardPageSource(CoreBackend backend) {
    this.backend = backend;
    this.kernel = backend.kernel();
    this.machine = new Machine(kernel);
    this.limits = new LimitCheck(kernel, machine);
    this.mapper = new Mapper(kernel, machine, limits);
    this.receipts = new Receipts(kernel, machine);
    this.filler = new Filler(kernel, machine, limits, mapper, receipts, backend.journal());
  }

  @Override
  public HostRegion map(HostRequest request) {
    return begin(request).awaitReady();
  }

  @Override
  public HostRegion mapInBackground(HostRequest request) {
    return begin(request);
  }

  private StandardRegion begin(HostRequest request) {
    backend.standing().requireOpen();
    return request.pages() instanceof PageKind.Directory in
        ? inDirectory(in, open -> begin(request, Optional.of(open)))
        : begin(request, Optional.empty());
  }

  private <T> T inDirectory(PageKind.Directory in, Function<DirectoryHandle, T> use) {
    Wish.requireKernelPages(kernel, in);
    DirectoryHandle open = Folders.open(kernel, in);
    try {
      return use.apply(open);
    } finally {
      kernel.close(open);
    }
  }

  private StandardRegion begin(HostRequest request, Optional<DirectoryHandle> directory) {
    // Here, not on another thread: inherited placement is the caller's.
    Wish wish = Wish.of(request, directory, kernel, machine);
    return OwnThread.unlessPlatform(
        kernel, wish.placement().workers(), () -> begin(wish, directory));
  }

  private StandardRegion begin(Wish wish, Optional<DirectoryHandle> directory) {
    var _ =
        counted(
            wish,
            () -> {
              requireRoom(wish);
              return wish;
            });
    List<String> notes = new ArrayList<>(limits.warnings(wish));
    pinModels(wish.pageBytes(), notes);
    if (wish.backing() == Backing.DRIVER) {
      return fromDriver(wish, notes);
    }
    long begun = kernel.nanoTime();
    Mapped mapped =
        counted(
            wish,
            () ->
                directory.isPresent()
                    ? mapper.nameless(wish, directory.get())
                    : mapper.anonymous(wish));
    Duration took = Duration.ofNanos(kernel.nanoTime() - begun);
    notes.addAll(mapped.notes());
    RegionMemory memory = mapper.owned(mapped);
    boolean lazily = wish.request().touch() == Touch.LAZILY;
    Watermark watermark = new Watermark(lazily ? wish.mappedBytes() : 0);
    StandardRegion region = region(mapped.wish(), memory, watermark, backend.standing());
    try {
      region.count(backend.journal(), took);
      mapped.notes().forEach(note -> backend.journal().fallback(region, note));
      if (lazily) {
        notes.add("pages come at first use; a shortage then kills the process");
        notes.addAll(mapped.wish().placement().notes());
        filler.report(
            region, mapped.wish(), memory.pages(), new Making(took, Duration.ZERO, 0, notes));
      } else {
        Making making = new Making(took, Duration.ZERO, 0, notes);
        filler.fill(region, mapped.wish(), memory.pages(), mapped.file(), watermark, making);
      }
      return region;
    } catch (RuntimeException | Error failure) {
      closeAfter(region, failure);
      throw failure;
    }
  }

  private static void closeAfter(Standing region, Throwable failure) {
    try {
      region.close();
    } catch (RuntimeException second) {
      failure.addSuppressed(second);
    }
  }

  /** What refuses a mapping is a mapping that failed. */
  private <T> T counted(Wish wish, Supplier<T> step) {
    long begun = kernel.nanoTime();
    try {
      return step.get();
    } catch (RuntimeException refused) {
      backend
          .journal()
          .failed(
              Activity.MAP,
              null,
              wish.mappedBytes() + " bytes on " + wish.request().pages().describe(),
              kernel.nanoTime() - begun,
              refused);
      throw refused;
    }
  }

  private void requireRoom(Wish wish) {
    if (wish.backing() == Backing.DRIVER) {
      return; // the driver has the last word on its own memory, and says it by its own error
    }
    Optional<Shortfall> missing = limits.find(wish, Credit.NONE);
    if (missing.isPresent()) {
      throw new ShortfallException("PageSource.map", missing.get(), null);
    }
  }

  private void pinModels(long pageBytes, List<String> notes) {
    for (CoreDevice device : backend.openDevices()) {
      PinModel model = device.port().traits(pageBytes).pinModel();
      notes.add(
          "device "
              + device.info().ordinal()
              + switch (model) {
                case HARD -> " pins pages hard: registered pages cannot move";
                case NOTIFIER -> " follows pages by notifier: registered pages can move";
                case COHERENT ->
                    " reads host page tables: registering does not pin, so bind the region and keep"
                        + " automatic NUMA balancing off (kernel.numa_balancing=0)";
              });
    }
  }

  private StandardRegion region(
      Wish wish, RegionMemory memory, Progress progress, Standing ground) {
    try {
      return Standing.enrolled(
          new StandardRegion(
              wish.request(),
              wish.pageBytes(),
              memory,
              Views.over(memory.pages().address(), wish.request().logicalBytes()),
              progress,
              backend.workers(),
              ground));
    } catch (RuntimeException closed) {
      try {
        memory.giveBack(new ByteRange(0, memory.pages().byteSize()));
      } catch (RuntimeException second) {
        closed.addSuppressed(second);
      }
      throw closed;
    }
  }

  private StandardRegion fromDriver(Wish wish, List<String> notes) {
    PageKind.Driver kind = (PageKind.Driver) wish.request().pages();
    for (CoreDevice device : backend.openDevices()) {
      Optional<HostAllocationPort> port = device.port().hostAllocations();
      if (port.isPresent()) {
        notes.add("allocated by the driver of device " + device.info().ordinal());
        return fromDriver(wish, kind, device, port.get(), notes);
      }
    }
    throw new UnsupportedException(
        kind.describe(),
        backend.openDevices().isEmpty()
            ? "no device is open"
            : "the driver of no open device allocates host memory",
        backend.openDevices().isEmpty() ? "Open a device first" : "Use another page kind");
  }

  private StandardRegion fromDriver(
      Wish wish,
      PageKind.Driver kind,
      CoreDevice device,
      HostAllocationPort port,
      List<String> notes) {
    HostAllocationPort.Caching caching =
        switch (kind.caching()) {
          case NORMAL -> HostAllocationPort.Caching.NORMAL;
          case WRITE_COMBINED -> HostAllocationPort.Caching.WRITE_COMBINED;
        };
    long begun = kernel.nanoTime();
    // The driver's pages lie by the policy of the thread that asks, so one that has it asks.
    MemorySegment allocated =
        OwnThread.call(
            kernel,
            wish.placement().allocating(),
            () -> port.allocate(wish.mappedBytes(), caching));
    Duration took = Duration.ofNanos(kernel.nanoTime() - begun);
    RegionMemory memory = new DriverMemory(allocated, port, backend.workers());
    StandardRegion region =
        region(wish, memory, new Watermark(wish.mappedBytes()), device.standing());
    try {
      region.count(backend.journal(), took);
      notes.addAll(wish.placement().notes());
      filler.report(region, wish, memory.pages(), new Making(took, Duration.ZERO, 1, notes));
      return region;
    } catch (RuntimeException | Error failure) {
      closeAfter(region, failure);
      throw failure;
    }
  }

  @Override
  public HostRegion adopt(MemorySegment foreign) {
    backend.standing().requireOpen();
    return Adoption.of(foreign, kernel, machine, receipts, backend);
  }

  @Override
  public SharedRegion share(SharedRequest request, int rank) {
    backend.standing().requireOpen();
    return new Sharing(backend, machine, limits, mapper, filler).share(request, rank);
  }

  @Override
  public List<String> reapStale(Path directory) {
    backend.standing().requireOpen();
    PageKind.Directory in =
        new PageKind.Directory(directory, OptionalLong.empty(), PageKind.FileSystems.MEMORY_ONLY);
    Wish.requireKernelPages(kernel, in);
    DirectoryHandle open = Folders.open(kernel, in);
    try {
      return Reaper.reap(kernel, open);
    } finally {
      kernel.close(open);
    }
  }

  @Override
  public Optional<Shortfall> check(HostRequest request) {
    backend.standing().requireOpen();
    Objects.requireNonNull(request, "request");
    return request.pages() instanceof PageKind.Directory in
        ? inDirectory(in, open -> check(request, Optional.of(open)))
        : check(request, Optional.empty());
  }

  @Override
  public HostSurvey survey() {
    backend.standing().requireOpen();
    List<String> notes = new ArrayList<>();
    pinModels(kernel.basePageBytes(), notes);
    return new Surveyor(kernel, machine).survey(notes);
  }

  private Optional<Shortfall> check(HostRequest request, Optional<DirectoryHandle> directory) {
    Wish wish = Wish.of(request, directory, kernel, machine);
    return wish.backing() == Backing.DRIVER ? Optional.empty() : limits.find(wish, Credit.NONE);
  }

  @Override
  public String toString() {
    return "page source of " + backend + " over " + kernel;
  }
}
