package io.holdfast.device;

import io.holdfast.internal.Segment;

/**
 * A range of device memory with its bounds; the CPU cannot reach through it.
 *
 * <p>Safe from any thread. Use after its owner was closed is an {@link IllegalStateException}.
 */
public sealed interface DeviceSegment permits Segment {
  /**
   * The device it lies on.
   *
   * @return the device
   */
  DeviceInfo device();

  /**
   * Bytes that may be used; for extensible memory those committed when this was made.
   *
   * @return bytes
   */
  long byteSize();

  /**
   * A part of it.
   *
   * @param offsetBytes from the start, 0 or more
   * @param bytes how many
   * @return the part
   * @throws IndexOutOfBoundsException when it reaches beyond this segment
   */
  DeviceSegment slice(long offsetBytes, long bytes);

  /**
   * The first byte's address, for kernels and other libraries; Holdfast takes one back only through
   * {@code Device.wrapMemory}.
   *
   * @return the address
   */
  long rawAddress();
}
