package io.holdfast.host;

import java.util.concurrent.CompletableFuture;

/** One mapping and everything that stands on it. Safe from any thread. */
public interface HostRegion extends HostMemory, AutoCloseable {
  /**
   * What was asked for.
   *
   * @return the request
   */
  HostRequest request();

  /**
   * What the kernel says it really got.
   *
   * @return the receipt
   * @throws NotPopulatedException before {@link #ready()}
   */
  PlacementReceipt receipt();

  /**
   * Done when every page is there, failed when it never will be.
   *
   * @return a copy; completing it changes nothing here
   */
  CompletableFuture<Void> ready();

  /**
   * How far it is populated.
   *
   * @return bytes from the start
   */
  long populatedBytes();

  /**
   * A part on whole backing pages.
   *
   * @param offsetBytes a multiple of the backing page
   * @param bytes logical bytes of the part, positive
   * @return the part
   */
  HostMemory slice(long offsetBytes, long bytes);

  /**
   * Keeps the pages where they are while others use their address, for example a network card.
   *
   * @param holder who, for messages
   * @return close it to let go
   */
  Hold hold(String holder);

  /**
   * Undoes in reverse what stands on it, then unmaps. Idempotent.
   *
   * <p>Waits for the device, which always ends; refuses, with nothing undone, while something is in
   * the caller's hands.
   *
   * @throws io.holdfast.error.BusyException names a hold, a lease or a native call of the caller's
   */
  @Override
  void close();
}
