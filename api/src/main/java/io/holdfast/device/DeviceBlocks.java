package io.holdfast.device;

import io.holdfast.internal.FixedDeviceBlocks;
import io.holdfast.layout.BlockLayout;
import io.holdfast.layout.BlockShape;
import java.util.List;

/**
 * The device side of copies: where an engine's blocks lie, and how many can be used now.
 *
 * <p>Safe from any thread.
 */
public interface DeviceBlocks {
  /**
   * Blocks laid out inside one segment.
   *
   * @param memory where they lie
   * @param layout how they lie, from the segment's start
   * @return the blocks
   * @throws IllegalArgumentException when the layout reaches beyond the segment
   */
  static DeviceBlocks of(DeviceSegment memory, BlockLayout layout) {
    return FixedDeviceBlocks.of(memory, layout);
  }

  /**
   * Blocks whose planes are separate allocations.
   *
   * @param shape what a block is made of
   * @param planes one for each part of the shape
   * @return the blocks; as many as the shortest plane holds
   */
  static DeviceBlocks ofPlanes(BlockShape shape, List<DevicePlane> planes) {
    return FixedDeviceBlocks.ofPlanes(shape, planes);
  }

  /**
   * The device.
   *
   * @return the device
   */
  DeviceInfo device();

  /**
   * What a block is made of.
   *
   * @return the shape
   */
  BlockShape shape();

  /**
   * Blocks 0 to count-1 can be used.
   *
   * @return how many, at this moment
   */
  long count();

  /**
   * Where a part lies; spans exactly {@link #count()} blocks.
   *
   * @param part 0 to the number of parts - 1
   * @return the plane
   */
  DevicePlane plane(int part);
}
