package io.holdfast.backend.cpusim.host;

import io.holdfast.backend.cpusim.host.SimHost.Source;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Memory that a process has mapped; guarded by the host's lock. */
final class SimMapping {
  final long address;
  final long bytes;
  final PageSet pages;
  final Source source;

  /** Where in the page set it begins. */
  final long firstPage;

  /** The file, or null for memory of its own. */
  final @Nullable Inode inode;

  /** Its own bytes, or null for a file's. */
  final @Nullable SparseStore store;

  private final SparseStore.View view;

  /** Which pages are still mapped, as stretches from the mapping's start. */
  private final List<PageSet.Stretch> live = new ArrayList<>();

  /** Null where the thread that touches decides. */
  @Nullable Policy policy;

  boolean keptFromChildren;
  boolean adviseHuge;
  boolean adviseSmall;

  SimMapping(
      SparseStore.View view,
      long bytes,
      PageSet pages,
      Source source,
      long firstPage,
      @Nullable Inode inode,
      @Nullable SparseStore store) {
    this.view = view;
    this.address = view.address();
    this.bytes = bytes;
    this.pages = pages;
    this.source = source;
    this.firstPage = firstPage;
    this.inode = inode;
    this.store = store;
    live.add(new PageSet.Stretch(0, bytes / pages.pageBytes));
  }

  long end() {
    return address + bytes;
  }

  long pageBytes() {
    return pages.pageBytes;
  }

  boolean isPool() {
    return source == Source.POOL;
  }

  /** The page of an address, counted in the page set. */
  long pageOf(long at) {
    return firstPage + (at - address) / pageBytes();
  }

  /** Whether every byte of a range is still mapped. */
  boolean covers(long from, long to) {
    long first = (from - address) / pageBytes();
    long end = Math.ceilDiv(to - address, pageBytes());
    for (PageSet.Stretch one : live) {
      if (one.first() <= first && one.end() >= end) {
        return true;
      }
    }
    return false;
  }

  /** Stretches, counted in the page set, that are mapped within a range; then they are not. */
  List<PageSet.Stretch> cut(long from, long to) {
    long first = (Math.max(from, address) - address) / pageBytes();
    long end = Math.ceilDiv(Math.min(to, end()) - address, pageBytes());
    List<PageSet.Stretch> removed = new ArrayList<>();
    List<PageSet.Stretch> left = new ArrayList<>();
    for (PageSet.Stretch one : live) {
      long low = Math.max(one.first(), first);
      long high = Math.min(one.end(), end);
      if (low >= high) {
        left.add(one);
        continue;
      }
      removed.add(new PageSet.Stretch(firstPage + low, firstPage + high));
      if (one.first() < low) {
        left.add(new PageSet.Stretch(one.first(), low));
      }
      if (high < one.end()) {
        left.add(new PageSet.Stretch(high, one.end()));
      }
    }
    live.clear();
    live.addAll(left);
    return removed;
  }

  /** Addresses that are still mapped, from one to another. */
  List<long[]> ranges() {
    List<long[]> ranges = new ArrayList<>();
    for (PageSet.Stretch one : live) {
      ranges.add(
          new long[] {address + one.first() * pageBytes(), address + one.end() * pageBytes()});
    }
    return ranges;
  }

  boolean gone() {
    return live.isEmpty();
  }

  /** Ends the mapping of this Java process too. */
  void close() {
    view.arena().close();
    if (store != null) {
      store.close();
    }
  }
}
