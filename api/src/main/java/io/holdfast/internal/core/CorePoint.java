package io.holdfast.internal.core;

import io.holdfast.device.DevicePoint;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.StreamHandle;

/** A point that a stream of ours or an engine's can be made to wait for. */
public interface CorePoint extends DevicePoint {
  /**
   * Makes later work on a stream wait for this point; nothing where it is known to have passed.
   * Allocates nothing.
   *
   * @param port of the waiting stream's device
   * @param stream who waits
   */
  void holdBack(DevicePort port, StreamHandle stream);

  /**
   * The backend it belongs to; streams of others cannot wait for it.
   *
   * @return the backend
   */
  CoreBackend backend();
}
