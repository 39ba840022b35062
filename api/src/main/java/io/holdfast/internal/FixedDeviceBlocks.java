package io.holdfast.internal;

import io.holdfast.device.DeviceBlocks;
import io.holdfast.device.DeviceInfo;
import io.holdfast.device.DevicePlane;
import io.holdfast.device.DeviceSegment;
import io.holdfast.layout.BlockLayout;
import io.holdfast.layout.BlockShape;
import io.holdfast.layout.Plane;
import java.util.ArrayList;
import java.util.List;

/** Device blocks whose number and places never change. Immutable. */
public final class FixedDeviceBlocks implements DeviceBlocks {
  private final DeviceInfo device;
  private final BlockShape shape;
  private final long count;
  private final List<DevicePlane> planes;

  private FixedDeviceBlocks(BlockShape shape, long count, List<DevicePlane> planes) {
    this.device = planes.getFirst().memory().device();
    this.shape = shape;
    this.count = count;
    this.planes = List.copyOf(planes);
  }

  /**
   * Blocks laid out inside one segment.
   *
   * @param memory where
   * @param layout how
   * @return the blocks
   */
  public static DeviceBlocks of(DeviceSegment memory, BlockLayout layout) {
    if (layout.extentBytes() > memory.byteSize()) {
      throw new IllegalArgumentException(
          "the layout reaches to byte "
              + layout.extentBytes()
              + ", the segment has "
              + memory.byteSize());
    }
    List<DevicePlane> planes = new ArrayList<>();
    for (Plane plane : layout.planes()) {
      planes.add(
          new DevicePlane(
              memory.slice(plane.offsetBytes(), plane.endBytes() - plane.offsetBytes()),
              plane.strideBytes()));
    }
    return new FixedDeviceBlocks(layout.shape(), layout.blocks(), planes);
  }

  /**
   * Blocks in separate allocations.
   *
   * @param shape what a block is made of
   * @param planes one for each part
   * @return the blocks
   */
  public static DeviceBlocks ofPlanes(BlockShape shape, List<DevicePlane> planes) {
    if (planes.size() != shape.parts()) {
      throw new IllegalArgumentException(
          planes.size() + " planes for a shape of " + shape.parts() + " parts");
    }
    DeviceInfo device = planes.getFirst().memory().device();
    long count = Long.MAX_VALUE;
    for (int part = 0; part < planes.size(); part++) {
      DevicePlane plane = planes.get(part);
      long partBytes = shape.partBytes().get(part);
      if (plane.strideBytes() < partBytes) {
        throw new IllegalArgumentException(
            "plane "
                + part
                + " has a stride of "
                + plane.strideBytes()
                + " bytes, less than its part of "
                + partBytes);
      }
      if (plane.memory().device().ordinal() != device.ordinal()) {
        throw new IllegalArgumentException(
            "plane "
                + part
                + " lies on device "
                + plane.memory().device().ordinal()
                + ", plane 0 on device "
                + device.ordinal());
      }
      long bytes = plane.memory().byteSize();
      count =
          Math.min(count, bytes < partBytes ? 0 : (bytes - partBytes) / plane.strideBytes() + 1);
    }
    if (count == 0) {
      throw new IllegalArgumentException("the shortest plane holds no block");
    }
    List<DevicePlane> exact = new ArrayList<>();
    for (int part = 0; part < planes.size(); part++) {
      DevicePlane plane = planes.get(part);
      long span =
          Math.addExact(
              Math.multiplyExact(count - 1, plane.strideBytes()), shape.partBytes().get(part));
      exact.add(new DevicePlane(plane.memory().slice(0, span), plane.strideBytes()));
    }
    return new FixedDeviceBlocks(shape, count, exact);
  }

  @Override
  public DeviceInfo device() {
    return device;
  }

  @Override
  public BlockShape shape() {
    return shape;
  }

  @Override
  public long count() {
    return count;
  }

  @Override
  public DevicePlane plane(int part) {
    return planes.get(part);
  }

  @Override
  public String toString() {
    return count + " blocks of " + shape.bytes() + " bytes on device " + device.ordinal();
  }
}
