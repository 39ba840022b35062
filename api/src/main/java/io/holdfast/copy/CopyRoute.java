package io.holdfast.copy;

import io.holdfast.device.Order;

/**
 * Stores and loads between device blocks and host slots.
 *
 * <p>Safe from any thread. A submission is checked as a whole before anything is submitted; it does
 * not wait for the device.
 */
public interface CopyRoute extends AutoCloseable {
  /**
   * Device to host.
   *
   * @param copies which; none is a no-op that is done
   * @param order what comes first
   * @return the end of it
   * @throws IndexOutOfBoundsException names the first pair out of range
   * @throws IllegalArgumentException names a destination that occurs twice
   * @throws io.holdfast.pin.NotReadyException names the first slot that is not pinned yet
   * @throws io.holdfast.error.BusyException while a conflicting lease is out
   */
  Completion store(BlockCopies copies, Order order);

  /**
   * Host to device.
   *
   * <p>Slots may be read at any time from now on, before the order is met: it speaks of the device
   * blocks. Stores to the slots that are in flight come first; who writes slots on a device by
   * other ways than a store is done before the call.
   *
   * @param copies which; none is a no-op that is done
   * @param order what comes first, and who comes next
   * @return the end of it
   * @throws IndexOutOfBoundsException names the first pair out of range
   * @throws IllegalArgumentException names a destination that occurs twice
   * @throws io.holdfast.pin.NotReadyException names the first slot that is not pinned yet
   * @throws io.holdfast.error.BusyException while a conflicting lease is out
   */
  Completion load(BlockCopies copies, Order.TwoSided order);

  /**
   * Device to host without garbage.
   *
   * @param copies which
   * @param order what comes first
   * @param reuse a completion of this route that is done; armed again and returned
   * @return reuse
   * @throws IllegalStateException when it is not done
   */
  Completion store(BlockCopies copies, Order order, Completion reuse);

  /**
   * Host to device without garbage.
   *
   * @param copies which
   * @param order what comes first, and who comes next
   * @param reuse a completion of this route that is done; armed again and returned
   * @return reuse
   * @throws IllegalStateException when it is not done
   */
  Completion load(BlockCopies copies, Order.TwoSided order, Completion reuse);

  /**
   * Which path these would take now, in which pieces, and by which measurement.
   *
   * @param copies which
   * @param direction which way
   * @return the decision
   */
  CopyDecision explain(BlockCopies copies, Direction direction);

  /** Waits for its copies. Idempotent. */
  @Override
  void close();

  /** Which way. */
  enum Direction {
    /** Device to host. */
    STORE,
    /** Host to device. */
    LOAD
  }
}
