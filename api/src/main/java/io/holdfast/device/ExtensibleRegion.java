package io.holdfast.device;

import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/**
 * Device blocks whose addresses never change while their number does.
 *
 * <p>The region itself is the device side of copies: routes and pools opened on it survive commit,
 * sleep and wake. Safe from any thread; changes exclude one another. A change that takes pages away
 * or exchanges them waits for copies in flight, tells subscribers first, and raises the epoch.
 */
public interface ExtensibleRegion extends DeviceBlocks, AutoCloseable {
  /**
   * Where it stands.
   *
   * @return the state
   */
  State state();

  /**
   * How far the addresses reach, for people.
   *
   * @return prints; has no number
   */
  ReservedExtent reserved();

  /**
   * What is really there, for programs.
   *
   * @return the extent
   */
  CommittedExtent committed();

  /**
   * One more whenever pages that were committed are exchanged or released; growing exchanges none.
   *
   * @return the epoch, from 0
   */
  long epoch();

  /**
   * At least that many blocks, new ones zeroed, old ones untouched; all segments or none. Copies in
   * flight go on meanwhile.
   *
   * @param blocks 1 to the capacity; fewer than are committed is a no-op
   * @return what is there afterwards
   * @throws io.holdfast.error.DriverException when memory is short; the old size stays usable
   * @throws IllegalStateException while released, or beyond the sealed size
   */
  CommittedExtent commit(long blocks);

  /**
   * Exactly that many blocks, fewer than now; contents are lost and zeroed.
   *
   * @param blocks 1 to the committed number; as many as are committed is a no-op
   * @param lastUse after which the pages are free to go
   * @return what is there afterwards
   * @throws IllegalStateException when sealed or released
   */
  CommittedExtent shrink(long blocks, Order.After lastUse);

  /**
   * One physical allocation for each segment, at the same addresses. Where that is so already,
   * nothing happens, and no content is lost.
   *
   * @param contents what becomes of the bytes when pages are exchanged
   * @param lastUse after which the pages are free to go
   * @return what is there afterwards
   * @throws io.holdfast.error.BusyException while exported
   * @throws io.holdfast.error.DriverException when memory is short; the size stays, and so do the
   *     contents unless they were to be discarded
   */
  CommittedExtent consolidate(Contents contents, Order.After lastUse);

  /**
   * Fixes the final size and keeps the contents; see {@link #seal(long, Contents, Order.After)}.
   *
   * @param finalBlocks committed from now on; not fewer than are committed
   * @param lastUse after which pages may be exchanged
   * @return what is there afterwards
   */
  default CommittedExtent seal(long finalBlocks, Order.After lastUse) {
    return seal(finalBlocks, Contents.KEEP, lastUse);
  }

  /**
   * Fixes the final size: commits it and, where anything outside will hold handles, consolidates in
   * the same step. Only then can the region be exported or registered elsewhere.
   *
   * <p>Keeping the contents needs room for a second copy of what was committed before, not of what
   * is committed now.
   *
   * @param finalBlocks committed from now on; not fewer than are committed, for that is {@link
   *     #shrink}
   * @param contents what becomes of the bytes where pages are exchanged
   * @param lastUse after which pages may be exchanged
   * @return what is there afterwards
   * @throws io.holdfast.error.DriverException when memory is short; the region is not sealed then
   * @throws IllegalStateException when sealed with another number, or released
   */
  CommittedExtent seal(long finalBlocks, Contents contents, Order.After lastUse);

  /**
   * Completed once the size is final, with an {@link IllegalStateException} when the region is
   * closed before. Dependents run on the sealing thread and may export.
   *
   * @return a copy; completing it changes nothing here
   */
  CompletableFuture<CommittedExtent> whenFinal();

  /**
   * Sleep: physical memory goes back to the device, addresses stay. While none is held, only what
   * the driver did not take back before is offered again.
   *
   * @param lastUse after which the pages are free to go
   * @throws io.holdfast.error.BusyException while exported
   * @throws io.holdfast.error.UnsupportedException on the ordinary allocation that stands in where
   *     the driver has no virtual memory
   */
  void releasePhysical(Order.After lastUse);

  /**
   * Wake: the same number of blocks as before {@link #releasePhysical}, zeroed. Nothing happens
   * while awake.
   *
   * @throws io.holdfast.error.DriverException when memory is short; the region sleeps on
   */
  void recommit();

  /**
   * The first blocks as fixed blocks, at the same addresses.
   *
   * @param blocks at most the committed number
   * @return blocks that answer {@link StaleException} after the next exchange
   */
  DeviceBlocks first(long blocks);

  /**
   * Handles another process can import; an open export holds the pages: {@link #consolidate} and
   * {@link #releasePhysical} are busy until it is closed.
   *
   * @param kind how
   * @return the export
   * @throws NotFinalException before {@link #seal}
   * @throws io.holdfast.error.UnsupportedException when it was not requested, or a segment has more
   *     than one physical allocation
   */
  ExportedRegion export(HandleKind kind);

  /**
   * A range as a dma-buf; an open one holds the pages, like every export.
   *
   * @param range a part of one of this region's planes
   * @return the export
   * @throws NotFinalException before {@link #seal}
   * @throws StaleException when the pages were exchanged since the range was made
   * @throws io.holdfast.error.UnsupportedException where the driver cannot, or the range's segment
   *     has more than one physical allocation
   */
  DmaBufExport exportDmaBuf(DeviceSegment range);

  /**
   * Physical allocations by segment.
   *
   * @return the census
   */
  Census census();

  /**
   * Called before each change, on the changing thread. Copies are still possible then, for example
   * to save blocks before they go; a change of this region is not. A change that was told of can
   * still fail.
   *
   * @param listener told what is about to happen; what it throws stops the change
   * @return close it to end the subscription
   */
  Subscription beforeChange(Consumer<RegionChange> listener);

  /** Waits for copies in flight, then gives pages and addresses back. Idempotent. */
  @Override
  void close();

  /** The states. */
  enum State {
    /** Addresses, no pages. */
    RESERVED,
    /** Some blocks usable. */
    COMMITTED,
    /** The size is final. */
    SEALED,
    /** Asleep. */
    RELEASED,
    /** Gone. */
    CLOSED
  }

  /** What becomes of the bytes. */
  enum Contents {
    /** Copied over; needs room for a second copy of the largest segment. */
    KEEP,
    /** Zeroed in every segment; needs no more room than there is. */
    DISCARD
  }
}
