package io.holdfast.backend.cpusim.host;

import io.holdfast.backend.cpusim.host.SimHost.FileSystem;
import io.holdfast.backend.cpusim.host.SimHost.Source;
import io.holdfast.spi.HostKernel.LockMode;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A file: its pages and its bytes, whatever its names; guarded by the host's lock. */
final class Inode {
  final long number;
  final @Nullable FileSystem system;
  final PageSet pages;
  final Source source;
  final SparseStore store = new SparseStore();

  /** Who holds it locked, by open file. */
  final Map<OpenFile, LockMode> locks = new HashMap<>();

  long bytes;
  long links;
  boolean sizeSealed;

  /** Pages reserved by mappings and not made yet. */
  long reservedPages;

  /** Open files and mappings. */
  int users;

  @Nullable Policy policy;

  Inode(long number, @Nullable FileSystem system, long pageBytes, Source source) {
    this.number = number;
    this.system = system;
    this.pages = new PageSet(pageBytes);
    this.source = source;
  }

  /** An open file description, shared by copies of a descriptor. */
  static final class OpenFile {
    final Inode inode;
    int descriptors;

    OpenFile(Inode inode) {
      this.inode = inode;
    }
  }
}
