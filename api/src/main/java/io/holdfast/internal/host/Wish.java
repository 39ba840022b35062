package io.holdfast.internal.host;

import io.holdfast.device.Demand;
import io.holdfast.error.UnsupportedException;
import io.holdfast.host.HostRequest;
import io.holdfast.host.PageKind;
import io.holdfast.layout.Bytes;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.HostKernel.DirectoryHandle;
import io.holdfast.spi.HostKernel.FileSystemFacts;
import io.holdfast.spi.HostKernel.Pages;
import java.util.NavigableSet;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * A request resolved for this machine: which page, how many bytes, where.
 *
 * @param request what was asked
 * @param backing what backs it
 * @param pageBytes the page that will back it
 * @param mappedBytes the logical bytes in whole pages
 * @param placement where
 * @param space the file system, for files
 */
record Wish(
    HostRequest request,
    Backing backing,
    long pageBytes,
    long mappedBytes,
    Placement placement,
    Optional<FileSpace> space) {

  /** What backs memory. */
  enum Backing {
    BASE,
    TRANSPARENT,
    HUGETLB,
    HUGETLBFS,
    TMPFS,
    OTHER_FILES,
    DRIVER,
    ADOPTED;

    /** Whether pages come from a HugeTLB pool. */
    boolean isPool() {
      return this == HUGETLB || this == HUGETLBFS;
    }
  }

  /**
   * Room on a file system.
   *
   * @param facts its type, page and room
   * @param mount where it is mounted, where known
   */
  record FileSpace(FileSystemFacts facts, Optional<Mounts.Mount> mount) {}

  /**
   * Resolves a request for the calling thread. Nothing is mapped.
   *
   * @param directory the open directory of a directory kind, else empty
   * @throws UnsupportedException where this machine has no such pages or nodes
   */
  static Wish of(
      HostRequest request,
      Optional<DirectoryHandle> directory,
      HostKernel kernel,
      Machine machine) {
    Optional<FileSpace> space = directory.map(open -> space(kernel, open));
    Backing backing = backing(request.pages(), space, kernel);
    long pageBytes = pageBytes(request.pages(), backing, space, kernel, machine);
    long mappedBytes = Bytes.roundUp(request.logicalBytes(), pageBytes);
    Placement placement = Placement.resolve(request, kernel, machine);
    if (kernel.pages() == Pages.PLAIN && placement.mode().isPresent()) {
      placement = withoutNodes(request, placement);
    }
    return new Wish(request, backing, pageBytes, mappedBytes, placement, space);
  }

  private static Placement withoutNodes(HostRequest request, Placement placement) {
    String reason = "plain segments of this operating system have no nodes";
    if (request.placement() == Demand.REQUIRE) {
      throw new UnsupportedException(
          "placement on nodes", reason, "Ask with placement PREFER, or run on Linux");
    }
    return placement.unbound(placement.confinedTo(), "nothing is bound: " + reason);
  }

  private static FileSpace space(HostKernel kernel, DirectoryHandle open) {
    return new FileSpace(
        kernel.fileSystem(open), Mounts.of(kernel).ofDevice(kernel.facts(open).device()));
  }

  private static Backing backing(PageKind kind, Optional<FileSpace> space, HostKernel kernel) {
    return switch (kind) {
      case PageKind.Base _ -> Backing.BASE;
      case PageKind.TransparentHuge _ -> Backing.TRANSPARENT;
      case PageKind.HugeTlb _ -> {
        requireKernelPages(kernel, kind);
        yield Backing.HUGETLB;
      }
      case PageKind.Driver _ -> Backing.DRIVER;
      case PageKind.Directory in -> files(in, space.orElseThrow());
    };
  }

  static void requireKernelPages(HostKernel kernel, PageKind kind) {
    if (kernel.pages() == Pages.PLAIN) {
      throw new UnsupportedException(
          kind.describe(),
          "host memory is plain segments on " + kernel.identity(),
          "Ask for base pages, or run on Linux");
    }
  }

  private static Backing files(PageKind.Directory in, FileSpace space) {
    long magic = space.facts.magic();
    if (magic == FileSystemFacts.HUGETLBFS_MAGIC) {
      return Backing.HUGETLBFS;
    }
    if (magic == FileSystemFacts.TMPFS_MAGIC) {
      return Backing.TMPFS;
    }
    if (in.fileSystems() == PageKind.FileSystems.ANY) {
      return Backing.OTHER_FILES;
    }
    throw new UnsupportedException(
        in.describe(),
        "it is on "
            + space.mount.map(mount -> mount.type() + " at " + mount.point() + ", ").orElse("")
            + "file system type 0x"
            + Long.toHexString(magic)
            + ", neither hugetlbfs nor tmpfs",
        "Name a directory on hugetlbfs (mount -t hugetlbfs -o pagesize=2M none DIRECTORY) or tmpfs;"
            + " a program can accept any file system with PageKind.FileSystems.ANY");
  }

  private static long pageBytes(
      PageKind kind,
      Backing backing,
      Optional<FileSpace> space,
      HostKernel kernel,
      Machine machine) {
    long found =
        switch (backing) {
          case BASE, TRANSPARENT, OTHER_FILES, DRIVER, ADOPTED -> kernel.basePageBytes();
          case HUGETLBFS, TMPFS -> space.orElseThrow().facts.blockBytes();
          case HUGETLB -> ((PageKind.HugeTlb) kind).pageBytes();
        };
    if (backing == Backing.HUGETLB) {
      NavigableSet<Long> sizes = machine.hugePageSizes();
      if (!sizes.contains(found)) {
        throw new UnsupportedException(
            kind.describe(),
            sizes.isEmpty() ? "this kernel has none" : "this kernel has " + names(sizes),
            sizes.isEmpty()
                ? "Use base pages, or a kernel with HugeTLB pages"
                : "Ask for one of those sizes");
      }
    }
    if (kind instanceof PageKind.Directory in
        && in.pageBytes().isPresent()
        && in.pageBytes().getAsLong() != found) {
      throw new UnsupportedException(
          PageSizes.text(in.pageBytes().getAsLong()) + " pages in " + in.directory(),
          "the directory is "
              + switch (backing) {
                case HUGETLBFS -> "hugetlbfs";
                case TMPFS -> "tmpfs";
                default -> "an ordinary file system";
              }
              + " with pages of "
              + PageSizes.text(found),
          "Mount one with these pages: mount -t hugetlbfs -o pagesize="
              + PageSizes.quantity(in.pageBytes().getAsLong()).replace("i", "")
              + " none DIRECTORY");
    }
    return found;
  }

  private static String names(NavigableSet<Long> sizes) {
    return sizes.stream().map(PageSizes::text).collect(Collectors.joining(", "));
  }

  /** The same with another placement. */
  Wish placed(Placement other) {
    return new Wish(request, backing, pageBytes, mappedBytes, other, space);
  }

  /** The same with another account of the file system. */
  Wish on(FileSpace other) {
    return new Wish(request, backing, pageBytes, mappedBytes, placement, Optional.of(other));
  }

  /** Pages of it. */
  long pages() {
    return mappedBytes / pageBytes;
  }
}
