package io.holdfast.internal.extensible;

import io.holdfast.device.ExtensibleRegion.Contents;
import io.holdfast.device.Support;
import java.util.List;

/**
 * What is under a region's addresses. Guarded by the region's lock; its calls can block and run on
 * platform threads.
 */
sealed interface Backing permits PagedBacking, OrdinaryBacking {
  /** Where a segment starts, for ever. */
  long address(int segment);

  /** Adds what lies between the two numbers of blocks, zeroed. */
  Outcome grow(long from, long to);

  /** Keeps that many blocks, zeroed. */
  Outcome shrink(long from, long to);

  /** Whether every segment has one physical allocation that holds that many blocks. */
  boolean isConsolidated(long blocks);

  /** Puts one physical allocation under that many blocks of each segment. */
  Outcome consolidate(long from, long to, Contents contents);

  /** Gives all physical memory back. */
  Outcome release();

  /** Takes physical memory under nothing again, zeroed. */
  Outcome wake(long blocks);

  /**
   * Whether pages can be given back at all.
   *
   * @throws io.holdfast.error.UnsupportedException when not
   */
  void requireReleasable();

  /** Physical allocations by segment. */
  List<Integer> handlesPerSegment();

  /** Physical memory under the segments. */
  long physicalBytes();

  /** Physical memory that could not be given back yet. */
  long owedBytes();

  /** Whether something outside will hold handles. */
  boolean isForOthers();

  /** Whether a network card can read it. */
  Support rdmaCapable();

  /** Fallbacks and troubles, for people. */
  List<String> notes();

  /** Gives pages and addresses back. */
  void close();
}
