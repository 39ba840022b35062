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
   * At least that many blocks, new ones zeroed, old ones untouched; all segments or none.
   *
   * @param blocks 1 to the capacity; fewer than are committed is a no-op
   * @return what is there afterwards
   * @throws io.holdfast.error.DriverException when memory is short; the old size stays usable
   */
  CommittedExtent commit(long blocks);

  /**
   * Exactly that many blocks, fewer than now; contents are lost and zeroed.
   *
   * @param blocks 1 to the committed number
   * @param lastUse after which the pages are free to go
   * @return what is there afterwards
   * @throws io.holdfast.error.BusyException while exported
   */
  CommittedExtent shrink(long blocks, Order.After lastUse);

  /**
   * One physical allocation for each segment, at the same addresses.
   *
   * @param contents what becomes of the bytes
   * @param lastUse after which the pages are free to go
   * @return what is there afterwards
   * @throws io.holdfast.error.BusyException while exported
   */
  CommittedExtent consolidate(Contents contents, Order.After lastUse);

  /**
   * Fixes the final size: commits it and, where anything outside will hold handles, consolidates.
   * Only then can the region be exported or registered elsewhere.
   *
   * @param finalBlocks committed from now on; not fewer than are committed
   * @param lastUse after which pages may be exchanged
   * @return what is there afterwards
   */
  CommittedExtent seal(long finalBlocks, Order.After lastUse);

  /**
   * Completed once the size is final.
   *
   * @return a copy; completing it changes nothing here
   */
  CompletableFuture<CommittedExtent> whenFinal();

  /**
   * Sleep: physical memory goes back to the device, addresses stay.
   *
   * @param lastUse after which the pages are free to go
   * @throws io.holdfast.error.BusyException while exported
   */
  void releasePhysical(Order.After lastUse);

  /** Wake: the same number of blocks, zeroed. */
  void recommit();

  /**
   * The first blocks as fixed blocks, at the same addresses.
   *
   * @param blocks at most the committed number
   * @return blocks that answer {@link StaleException} after the next exchange
   */
  DeviceBlocks first(long blocks);

  /**
   * Handles another process can import; an open export holds the pages.
   *
   * @param kind how
   * @return the export
   * @throws NotFinalException before {@link #seal}
   * @throws io.holdfast.error.UnsupportedException when it was not requested, or a segment has more
   *     than one physical allocation
   */
  ExportedRegion export(HandleKind kind);

  /**
   * Physical allocations by segment.
   *
   * @return the census
   */
  Census census();

  /**
   * Called before each change, on the changing thread.
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
    /** Zeroed. */
    DISCARD
  }
}
