package io.holdfast.pin;

import io.holdfast.host.HostMemory;
import io.holdfast.layout.BlockLayout;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** Pinned host memory; grows from the start while pinning runs. Safe from any thread. */
public interface PinnedRegion extends AutoCloseable {
  /**
   * What is pinned.
   *
   * @return the memory
   */
  HostMemory memory();

  /**
   * The legal cuts, fixed before the first call.
   *
   * @return the plan
   */
  RegistrationPlan plan();

  /**
   * Bytes from the start that are populated and pinned, hence usable.
   *
   * @return bytes, only growing until closed
   */
  long watermarkBytes();

  /**
   * Bytes the driver has pinned.
   *
   * @return whole backing pages
   */
  long registeredBytes();

  /**
   * Done when all of it is usable, failed when it never will be.
   *
   * @return a copy; completing it changes nothing here
   */
  CompletableFuture<Void> ready();

  /**
   * The registrations so far.
   *
   * @return in address order
   */
  List<PinnedRange> ranges();

  /**
   * What pinning really did.
   *
   * @return the receipt as of now
   */
  PinReceipt receipt();

  /**
   * Host blocks laid out in it.
   *
   * @param layout from the memory's start
   * @return the slots
   * @throws IllegalArgumentException when the layout reaches beyond the logical bytes
   */
  HostBlocks blocks(BlockLayout layout);

  /** No further driver call after the present one, until resumed. */
  void pause();

  /** Goes on. */
  void resume();

  /** Stops for good; what is pinned stays usable until closed. */
  void cancel();

  /**
   * Waits for copies in flight, then unregisters in reverse. Idempotent.
   *
   * @throws io.holdfast.error.BusyException while a lease is out; nothing is undone
   */
  @Override
  void close();

  /**
   * Closes as fast as the driver can; other threads' driver calls stall meanwhile. Idempotent.
   *
   * @throws io.holdfast.error.BusyException while a lease is out; nothing is undone
   */
  void closeFlatOut();
}
