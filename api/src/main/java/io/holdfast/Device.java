package io.holdfast;

import io.holdfast.copy.CopyEngine;
import io.holdfast.device.Capabilities;
import io.holdfast.device.DeviceEvent;
import io.holdfast.device.DeviceInfo;
import io.holdfast.device.DeviceMemory;
import io.holdfast.device.DeviceSegment;
import io.holdfast.device.DeviceStream;
import io.holdfast.pin.Pinner;

/** One open device. Safe from any thread, virtual ones too; no context is left current. */
public interface Device extends AutoCloseable {
  /**
   * What it is.
   *
   * @return the device
   */
  DeviceInfo info();

  /**
   * What it can do, and how far.
   *
   * @return the capabilities, derived from the code that is there
   */
  Capabilities capabilities();

  /**
   * Its memory.
   *
   * @return device memory
   */
  DeviceMemory memory();

  /**
   * Host memory made usable by it.
   *
   * @return the pinner
   */
  Pinner pinner();

  /**
   * Its copies.
   *
   * @return the copy engine
   */
  CopyEngine copyEngine();

  /**
   * A stream of ours.
   *
   * @return the stream
   */
  DeviceStream newStream();

  /**
   * An event of ours.
   *
   * @return the event, not recorded
   */
  DeviceEvent newEvent();

  /**
   * An engine's stream by its raw handle, as a point of order; copies run on streams of ours. It
   * may belong to any context of this device.
   *
   * @param streamHandle the driver's handle
   * @return the stream, left to its owner when closed
   * @throws IllegalArgumentException for a default stream's handle or another device's stream
   * @throws io.holdfast.error.BusyException while a graph is being captured from it
   */
  DeviceStream wrapStream(long streamHandle);

  /**
   * The legacy default stream of this device's context, by name because 0 is mostly a mistake.
   *
   * @return the stream, as a point of order
   */
  DeviceStream legacyDefaultStream();

  /**
   * An engine's event by its raw handle; the engine's word that it is recorded.
   *
   * @param eventHandle the driver's handle
   * @return the event, left to its owner when closed
   */
  DeviceEvent wrapEvent(long eventHandle);

  /**
   * An engine's memory by its raw address; checked against the driver's own account.
   *
   * @param address first byte
   * @param bytes how many, positive
   * @return the memory, left to its owner
   * @throws IllegalArgumentException when the driver knows no allocation that holds all of it
   */
  DeviceSegment wrapMemory(long address, long bytes);

  /**
   * Closes what was opened from it, newest first. Idempotent.
   *
   * @throws io.holdfast.error.BusyException while something is in the caller's hands; nothing is
   *     undone
   */
  @Override
  void close();
}
