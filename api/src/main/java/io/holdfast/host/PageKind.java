package io.holdfast.host;

import java.nio.file.Path;
import java.util.Objects;
import java.util.OptionalLong;

/** What backs a region. */
public sealed interface PageKind {
  /**
   * The operating system's page.
   *
   * @return the kind
   */
  static PageKind base() {
    return new Base();
  }

  /**
   * Base pages with huge-page advice; the receipt says how much came of it.
   *
   * @return the kind
   */
  static PageKind thp() {
    return new TransparentHuge();
  }

  /**
   * The kernel's reserved pool of that page size.
   *
   * @param pageBytes one of the sizes the kernel has, a power of two
   * @return the kind
   */
  static PageKind hugeTlb(long pageBytes) {
    return new HugeTlb(pageBytes);
  }

  /**
   * Files in a hugetlbfs or tmpfs directory; the page is the file system's.
   *
   * @param directory an existing directory
   * @return the kind
   */
  static PageKind directory(Path directory) {
    return new Directory(directory, OptionalLong.empty(), FileSystems.MEMORY_ONLY);
  }

  /**
   * Files in a directory whose file system must have pages of that size.
   *
   * @param directory an existing directory
   * @param pageBytes the page its files must be made of, a power of two
   * @return the kind
   */
  static PageKind directory(Path directory, long pageBytes) {
    return new Directory(directory, OptionalLong.of(pageBytes), FileSystems.MEMORY_ONLY);
  }

  /**
   * Memory that the first open device's driver allocates, cached as usual.
   *
   * @return the kind
   */
  static PageKind driver() {
    return new Driver(Caching.NORMAL);
  }

  /**
   * For messages and receipts.
   *
   * @return some words, for example {@code 2 MiB HugeTLB pages}
   */
  default String describe() {
    return switch (this) {
      case Base _ -> "base pages";
      case TransparentHuge _ -> "transparent huge pages";
      case HugeTlb huge -> name(huge.pageBytes()) + " HugeTLB pages";
      case Directory in -> "files in " + in.directory();
      case Driver by ->
          "driver memory" + (by.caching() == Caching.WRITE_COMBINED ? ", write-combined" : "");
    };
  }

  private static void requireSize(long pageBytes) {
    if (pageBytes <= 0 || Long.bitCount(pageBytes) != 1) {
      throw new IllegalArgumentException(
          "a page size is a positive power of two, not " + pageBytes);
    }
  }

  private static String name(long bytes) {
    if (bytes % (1L << 30) == 0) {
      return (bytes >> 30) + " GiB";
    }
    return bytes % (1L << 20) == 0 ? (bytes >> 20) + " MiB" : (bytes >> 10) + " KiB";
  }

  /** Base pages. */
  record Base() implements PageKind {}

  /** Base pages with huge-page advice. */
  record TransparentHuge() implements PageKind {}

  /**
   * A reserved pool.
   *
   * @param pageBytes one of the sizes the kernel has, a power of two
   */
  record HugeTlb(long pageBytes) implements PageKind {
    /** Checks. */
    public HugeTlb {
      requireSize(pageBytes);
    }
  }

  /**
   * Files in a directory.
   *
   * @param directory opened once, names are relative to it
   * @param pageBytes the page that its files must be made of, a power of two; empty: whatever the
   *     file system has
   * @param fileSystems which are accepted
   */
  record Directory(Path directory, OptionalLong pageBytes, FileSystems fileSystems)
      implements PageKind {
    /** Checks. */
    public Directory {
      Objects.requireNonNull(directory, "directory");
      Objects.requireNonNull(fileSystems, "fileSystems");
      pageBytes.ifPresent(PageKind::requireSize);
    }
  }

  /**
   * Memory of the driver's.
   *
   * @param caching how the CPU sees it
   */
  record Driver(Caching caching) implements PageKind {
    /** Checks. */
    public Driver {
      Objects.requireNonNull(caching, "caching");
    }
  }

  /** What may be under a directory. */
  enum FileSystems {
    /** Hugetlbfs and tmpfs. */
    MEMORY_ONLY,
    /** Any; whether a driver can pin it is another matter. */
    ANY
  }

  /** How the CPU sees driver memory. */
  enum Caching {
    /** As any memory. */
    NORMAL,
    /** Writes are combined, reads are very slow; only by name. */
    WRITE_COMBINED
  }
}
