package io.holdfast.internal.host;

import io.holdfast.device.Demand;
import io.holdfast.error.Errno;
import io.holdfast.error.HostKernelException;
import io.holdfast.error.UnsupportedException;
import io.holdfast.host.HostRequest.Fork;
import io.holdfast.host.PageKind;
import io.holdfast.host.ShortfallException;
import io.holdfast.internal.host.LimitCheck.Credit;
import io.holdfast.internal.host.Wish.Backing;
import io.holdfast.layout.ByteRange;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.HostKernel.Advice;
import io.holdfast.spi.HostKernel.DirectoryHandle;
import io.holdfast.spi.HostKernel.FileHandle;
import io.holdfast.spi.HostKernel.Mapping;
import io.holdfast.spi.HostKernel.OpenMode;
import io.holdfast.spi.HostKernel.Pages;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Maps pages: map, keep from children, advise, place, in this order and before the first touch.
 *
 * <p>Either all of it is done, or nothing is left mapped.
 */
final class Mapper {
  private final HostKernel kernel;
  private final Machine machine;
  private final LimitCheck limits;

  Mapper(HostKernel kernel, Machine machine, LimitCheck limits) {
    this.kernel = kernel;
    this.machine = machine;
    this.limits = limits;
  }

  /**
   * Pages that were mapped.
   *
   * @param pages whole backing pages
   * @param wish the wish, its placement as it came out
   * @param file the file behind them, while it must stay open
   * @param notes fallbacks
   */
  record Mapped(MemorySegment pages, Wish wish, Optional<TakenFile> file, List<String> notes) {}

  /** Maps anonymous memory. */
  Mapped anonymous(Wish wish) {
    Mapping how =
        switch (wish.backing()) {
          case HUGETLB -> Mapping.anonymous().onHugePages(wish.pageBytes());
          case TRANSPARENT -> Mapping.anonymous().alignedTo(machine.transparentHugePageBytes());
          default -> Mapping.anonymous();
        };
    return prepared(wish, how);
  }

  /** Maps a new file without a name in a directory. */
  Mapped nameless(Wish wish, DirectoryHandle directory) {
    FileHandle file = openNameless(directory);
    try {
      requireSameFileSystem(wish, file);
      kernel.resize(file, wish.mappedBytes());
      Mapped mapped = prepared(wish, Mapping.of(file));
      if (wish.backing().isPool()) {
        kernel.close(file); // mapping has reserved the pages
        return mapped;
      }
      return new Mapped(
          mapped.pages, mapped.wish, Optional.of(new TakenFile(kernel, file, 0)), mapped.notes);
    } catch (HostKernelException refused) {
      kernel.close(file);
      throw explained(wish, Credit.NONE, refused);
    } catch (RuntimeException failure) {
      kernel.close(file);
      throw failure;
    }
  }

  /**
   * Maps a file of several slices, of which one is mine to place.
   *
   * @param whole all slices as one wish
   * @param slice the wish for mine
   * @param offsetBytes where mine starts
   * @param asked the page kind before it became a file's
   * @param file the file, which has its size
   */
  Mapped slices(Wish whole, Wish slice, long offsetBytes, PageKind asked, FileHandle file) {
    MemorySegment pages;
    try {
      pages = kernel.map(whole.mappedBytes(), Mapping.of(file));
    } catch (HostKernelException refused) {
      throw explained(whole, Credit.NONE, refused);
    }
    try {
      List<String> notes = new ArrayList<>();
      keepFromChildren(slice, pages);
      if (asked instanceof PageKind.TransparentHuge) {
        adviseHugePages(pages, notes);
        notes.add(
            "transparent huge pages of shared memory are '"
                + machine
                    .choice("/sys/kernel/mm/transparent_hugepage/shmem_enabled")
                    .orElse("not known")
                + "'");
      }
      MemorySegment mine = pages.asSlice(offsetBytes, slice.mappedBytes());
      return new Mapped(pages, bound(slice, mine), Optional.empty(), notes);
    } catch (RuntimeException failure) {
      unmap(pages, failure);
      throw failure;
    }
  }

  private FileHandle openNameless(DirectoryHandle directory) {
    try {
      return kernel.openNameless(directory);
    } catch (HostKernelException refused) {
      if (!refused.is(Errno.EOPNOTSUPP) && !refused.is(Errno.EISDIR)) {
        throw refused;
      }
    }
    // The file is empty until its name is gone, so nothing can stay behind but a name.
    String name =
        SharedNames.PRIVATE_PREFIX
            + HexFormat.of().toHexDigits(ThreadLocalRandom.current().nextLong());
    FileHandle file = kernel.open(directory, name, OpenMode.CREATE_NEW);
    try {
      kernel.unlink(directory, name);
      return file;
    } catch (HostKernelException refused) {
      if (refused.is(Errno.ENOENT)) {
        return file; // a reaper was faster
      }
      kernel.close(file);
      throw refused;
    }
  }

  private void requireSameFileSystem(Wish wish, FileHandle file) {
    long expected = wish.space().orElseThrow().facts().magic();
    long found = kernel.fileSystem(file).magic();
    if (found != expected) {
      throw new UnsupportedException(
          wish.request().pages().describe(),
          String.format(
              Locale.ROOT, "its file system changed from type 0x%x to 0x%x", expected, found),
          "Leave the mounts alone while regions are made");
    }
  }

  private Mapped prepared(Wish wish, Mapping how) {
    MemorySegment pages;
    try {
      pages = kernel.map(wish.mappedBytes(), how);
    } catch (HostKernelException refused) {
      throw explained(wish, Credit.NONE, refused);
    }
    try {
      List<String> notes = new ArrayList<>();
      keepFromChildren(wish, pages);
      if (wish.backing() == Backing.TRANSPARENT) {
        adviseHugePages(pages, notes);
      }
      return new Mapped(pages, bound(wish, pages), Optional.empty(), notes);
    } catch (RuntimeException failure) {
      unmap(pages, failure);
      throw failure;
    }
  }

  private void unmap(MemorySegment pages, RuntimeException failure) {
    try {
      kernel.unmap(pages);
    } catch (RuntimeException second) {
      failure.addSuppressed(second);
    }
  }

  // The whole mapping at once: the kernel would split off a part, and refuses that on huge pages.
  private void keepFromChildren(Wish wish, MemorySegment pages) {
    if (wish.request().fork() == Fork.KEEP_FROM_CHILDREN && kernel.pages() == Pages.KERNEL) {
      kernel.advise(pages, Advice.DONT_FORK);
    }
  }

  private void adviseHugePages(MemorySegment pages, List<String> notes) {
    if (kernel.pages() == Pages.PLAIN) {
      notes.add("no advice for huge pages: plain segments of this operating system take none");
      return;
    }
    try {
      kernel.advise(pages, Advice.HUGE_PAGE);
    } catch (HostKernelException refused) {
      notes.add(
          "the kernel took no advice for huge pages: "
              + refused.errnoName()
              + " (is CONFIG_TRANSPARENT_HUGEPAGE on?)");
    }
  }

  private Wish bound(Wish wish, MemorySegment pages) {
    Placement placement = wish.placement();
    if (placement.mode().isEmpty()) {
      return wish;
    }
    try {
      kernel.bind(pages, placement.mode().get(), placement.nodes());
      return wish;
    } catch (HostKernelException refused) {
      boolean forbidden = refused.is(Errno.EPERM) || refused.is(Errno.ENOSYS);
      String remedy =
          forbidden
              ? "A seccomp filter forbids mbind, as container runtimes do by default: give the"
                  + " container CAP_SYS_NICE or allow the call (Docker: --cap-add SYS_NICE), or ask"
                  + " with placement PREFER"
              : "Look whether the nodes are online and in the cpuset of this process";
      if (wish.request().placement() == Demand.REQUIRE) {
        HostKernelException explained =
            new HostKernelException(
                "mbind",
                placement.mode().get() + ", nodes " + NumberList.text(placement.nodes()),
                refused.errno(),
                remedy);
        explained.addSuppressed(refused);
        throw explained;
      }
      return wish.placed(
          placement.unbound(
              machine.allowedNodes(),
              "nothing is bound: mbind answered " + refused.errnoName() + ". " + remedy));
    }
  }

  /** The kernel's refusal as the shortfall behind it, or as it is where it is about no amount. */
  RuntimeException explained(Wish wish, Credit credit, HostKernelException refused) {
    return isShortage(refused)
        ? new ShortfallException(
            "PageSource.map",
            limits.explain(wish, credit, refused.operation() + " answered " + refused.errnoName()),
            refused)
        : refused;
  }

  // EFAULT is how populate says that a touch would have been a bus error.
  private static boolean isShortage(HostKernelException refused) {
    return refused.is(Errno.ENOMEM)
        || refused.is(Errno.ENOSPC)
        || refused.is(Errno.EDQUOT)
        || refused.is(Errno.EFAULT);
  }

  /** Kernel memory, to be unmapped, and its file closed where that is still open. */
  RegionMemory owned(Mapped mapped) {
    return owned(mapped.pages, mapped.file);
  }

  /** The same, told apart. */
  RegionMemory owned(MemorySegment pages, Optional<TakenFile> file) {
    return new RegionMemory() {
      @Override
      public MemorySegment pages() {
        return pages;
      }

      @Override
      public void giveBack(ByteRange range) {
        file.ifPresent(TakenFile::close);
        kernel.unmap(pages.asSlice(range.offsetBytes(), range.bytes()));
      }

      @Override
      public boolean isIndivisible() {
        return kernel.pages() == Pages.PLAIN;
      }
    };
  }
}
