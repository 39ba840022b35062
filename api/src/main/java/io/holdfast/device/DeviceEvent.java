package io.holdfast.device;

/**
 * A point that an engine records itself.
 *
 * <p>Waiting for one of ours that was never recorded is an {@link IllegalStateException}: drivers
 * call it done. A wrapped one is the engine's word that it is recorded.
 */
public interface DeviceEvent extends DevicePoint, AutoCloseable {
  /**
   * Moves the point behind all work now on the stream.
   *
   * @param stream any stream of the event's device, whichever context it belongs to
   * @return this
   */
  DeviceEvent record(DeviceStream stream);

  /** Gives the driver's event back; a wrapped one is left to its owner. Idempotent. */
  @Override
  void close();
}
