package io.holdfast.internal.host;

import io.holdfast.error.HostKernelException;
import io.holdfast.error.UnsupportedException;
import io.holdfast.host.HostRequest;
import io.holdfast.host.HostRequest.Touch;
import io.holdfast.host.PageKind;
import io.holdfast.host.SharedRequest;
import io.holdfast.host.Shortfall;
import io.holdfast.host.ShortfallException;
import io.holdfast.internal.Folders;
import io.holdfast.internal.core.CoreBackend;
import io.holdfast.internal.host.LimitCheck.Credit;
import io.holdfast.internal.host.Mapper.Mapped;
import io.holdfast.internal.host.Meeting.Geometry;
import io.holdfast.internal.host.Receipts.Making;
import io.holdfast.internal.host.Wish.Backing;
import io.holdfast.internal.tree.Standing;
import io.holdfast.layout.ByteRange;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.HostKernel.DirectoryHandle;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;

/** Makes one rank's share of memory that several processes map. */
final class Sharing {
  private final CoreBackend backend;
  private final HostKernel kernel;
  private final Machine machine;
  private final LimitCheck limits;
  private final Mapper mapper;
  private final Filler filler;

  Sharing(CoreBackend backend, Machine machine, LimitCheck limits, Mapper mapper, Filler filler) {
    this.backend = backend;
    this.kernel = backend.kernel();
    this.machine = machine;
    this.limits = limits;
    this.mapper = mapper;
    this.filler = filler;
  }

  StandardSharedRegion share(SharedRequest request, int rank) {
    Objects.checkIndex(rank, request.ranks());
    if (request.ranks() > ControlPage.MOST_RANKS) {
      throw new IllegalArgumentException(
          "at most " + ControlPage.MOST_RANKS + " ranks can share, not " + request.ranks());
    }
    if (request.perRank().touch() == Touch.LAZILY) {
      throw new IllegalArgumentException("pages that are shared are populated before use");
    }
    PageKind.Directory files = files(request.perRank().pages());
    DirectoryHandle dataFolder = Folders.open(kernel, files);
    try {
      Wish slice =
          Wish.of(request.perRank().pages(files), Optional.of(dataFolder), kernel, machine);
      return OwnThread.unlessPlatform(
          kernel, slice.placement().workers(), () -> share(request, rank, slice, dataFolder));
    } finally {
      kernel.close(dataFolder);
    }
  }

  private PageKind.Directory files(PageKind asked) {
    Wish.requireKernelPages(kernel, PageKind.directory(SharedNames.SYSTEM_MEMORY));
    return switch (asked) {
      case PageKind.Directory in -> in;
      case PageKind.Base _ ->
          new PageKind.Directory(
              SharedNames.SYSTEM_MEMORY, OptionalLong.empty(), PageKind.FileSystems.MEMORY_ONLY);
      case PageKind.TransparentHuge _ ->
          new PageKind.Directory(
              SharedNames.SYSTEM_MEMORY, OptionalLong.empty(), PageKind.FileSystems.MEMORY_ONLY);
      case PageKind.HugeTlb huge ->
          new PageKind.Directory(
              mountOf(huge), OptionalLong.of(huge.pageBytes()), PageKind.FileSystems.MEMORY_ONLY);
      case PageKind.Driver driver ->
          throw new UnsupportedException(
              "sharing " + driver.describe(),
              "it belongs to the process whose driver allocated it",
              "Share base or huge pages, and pin them in every rank");
    };
  }

  private Path mountOf(PageKind.HugeTlb huge) {
    for (Mounts.Mount mount : Mounts.of(kernel).all().reversed()) {
      if (mount.type().equals("hugetlbfs") && pageOf(mount) == huge.pageBytes()) {
        return Path.of(mount.point());
      }
    }
    String size = PageSizes.quantity(huge.pageBytes()).replace("i", "");
    throw new UnsupportedException(
        "sharing " + huge.describe(),
        "no hugetlbfs with pages of that size is mounted",
        "Mount one (mkdir -p /dev/hugepages-"
            + size
            + " && mount -t hugetlbfs -o pagesize="
            + size
            + " none /dev/hugepages-"
            + size
            + "), or name its directory");
  }

  // Another mount may lie over it by now, so the open directory decides.
  private long pageOf(Mounts.Mount mount) {
    try {
      DirectoryHandle open = kernel.openDirectory(Path.of(mount.point()));
      try {
        return kernel.fileSystem(open).blockBytes();
      } finally {
        kernel.close(open);
      }
    } catch (HostKernelException outOfReach) {
      return 0;
    }
  }

  private StandardSharedRegion share(
      SharedRequest request, int rank, Wish slice, DirectoryHandle dataFolder) {
    if (slice.backing() == Backing.TMPFS) {
      return share(request, rank, slice, dataFolder, dataFolder);
    }
    // A page of hugetlbfs is too dear to tell each other a few words.
    DirectoryHandle controlFolder = kernel.openDirectory(SharedNames.SYSTEM_MEMORY);
    try {
      return share(request, rank, slice, dataFolder, controlFolder);
    } finally {
      kernel.close(controlFolder);
    }
  }

  private StandardSharedRegion share(
      SharedRequest request,
      int rank,
      Wish slice,
      DirectoryHandle dataFolder,
      DirectoryHandle controlFolder) {
    refuse(limits.findOnNodes(slice));
    long sliceBytes = slice.mappedBytes();
    Wish whole = whole(request, slice);
    Geometry geometry =
        new Geometry(request.perRank().logicalBytes(), sliceBytes, slice.pageBytes());
    PageKind asked = request.perRank().pages();
    try (Meeting meeting =
        new Meeting(kernel, request, rank, controlFolder, dataFolder, geometry)) {
      long begun = kernel.nanoTime();
      Mapped mapped =
          meeting.comeTogether(
              () -> refuse(limits.find(whole, Credit.NONE)),
              file -> {
                kernel.resize(file, whole.mappedBytes());
                return mapper.slices(whole, slice, rank * sliceBytes, asked, file);
              },
              file -> mapper.slices(whole, slice, rank * sliceBytes, asked, file));
      Duration took = Duration.ofNanos(kernel.nanoTime() - begun);
      return region(request, rank, whole, mapped, meeting, took);
    }
  }

  private static void refuse(Optional<Shortfall> missing) {
    if (missing.isPresent()) {
      throw new ShortfallException("PageSource.share", missing.get(), null);
    }
  }

  // All slices: where they lie is each rank's own affair.
  private Wish whole(SharedRequest request, Wish slice) {
    if (slice.mappedBytes() > Long.MAX_VALUE / request.ranks()) {
      throw new IllegalArgumentException(
          request.ranks() + " slices of " + slice.mappedBytes() + " bytes exceed a long");
    }
    long before = (request.ranks() - 1L) * slice.mappedBytes();
    HostRequest all = request.perRank().logicalBytes(before + request.perRank().logicalBytes());
    Placement anywhere =
        slice.placement().unbound(machine.allowedNodes(), "each rank places its own slice");
    return new Wish(
        all,
        slice.backing(),
        slice.pageBytes(),
        before + slice.mappedBytes(),
        anywhere,
        slice.space());
  }

  private StandardSharedRegion region(
      SharedRequest request, int rank, Wish whole, Mapped mapped, Meeting meeting, Duration took) {
    Wish slice = mapped.wish();
    long sliceBytes = slice.mappedBytes();
    Optional<TakenFile> file =
        slice.backing().isPool()
            ? Optional.empty()
            : Optional.of(new TakenFile(kernel, meeting.takeFile(), rank * sliceBytes));
    RegionMemory memory = mapper.owned(mapped.pages(), file);
    ControlPage page = meeting.takePage();
    long basePage = kernel.basePageBytes();
    Watermark watermark =
        new Watermark(
            0, to -> page.set(ControlPage.atSlice(rank), ControlPage.UNDER_WAY + to / basePage));
    StandardSharedRegion region;
    try {
      region =
          Standing.enrolled(
              new StandardSharedRegion(
                  whole.request(),
                  request,
                  rank,
                  slice,
                  memory,
                  page,
                  new SharedProgress(kernel, request, rank, sliceBytes, page, watermark),
                  backend.workers(),
                  backend.standing()));
    } catch (RuntimeException closed) {
      page.set(ControlPage.atSlice(rank), ControlPage.NEVER);
      page.close();
      memory.giveBack(new ByteRange(0, mapped.pages().byteSize()));
      throw closed;
    }
    region.count(backend.journal(), took);
    List<String> notes = new ArrayList<>(limits.warnings(slice));
    notes.addAll(mapped.notes());
    notes.add("slice " + rank + " of " + request.ranks() + "; the receipt is of this slice");
    filler.fill(
        region,
        slice,
        mapped.pages().asSlice(rank * sliceBytes, sliceBytes),
        file,
        watermark,
        new Making(took, Duration.ZERO, 0, notes));
    region.awaitOrClose(region.own());
    return region;
  }
}
