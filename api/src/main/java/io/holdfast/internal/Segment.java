package io.holdfast.internal;

import io.holdfast.device.DeviceInfo;
import io.holdfast.device.DeviceSegment;
import java.util.Objects;

/** A range of device memory that knows its owner. Immutable. */
public final class Segment implements DeviceSegment {
  private final DeviceInfo device;
  private final long address;
  private final long bytes;
  private final SegmentOwner owner;

  /**
   * A whole range.
   *
   * @param device where
   * @param address first byte
   * @param bytes how many, 0 or more
   * @param owner asked at each use
   */
  public Segment(DeviceInfo device, long address, long bytes, SegmentOwner owner) {
    if (bytes < 0) {
      throw new IllegalArgumentException("a segment of " + bytes + " bytes");
    }
    this.device = Objects.requireNonNull(device, "device");
    this.address = address;
    this.bytes = bytes;
    this.owner = Objects.requireNonNull(owner, "owner");
  }

  @Override
  public DeviceInfo device() {
    return device;
  }

  @Override
  public long byteSize() {
    return bytes;
  }

  @Override
  public DeviceSegment slice(long offsetBytes, long sliceBytes) {
    owner.requireUsable();
    Objects.checkFromIndexSize(offsetBytes, sliceBytes, bytes);
    return new Segment(device, address + offsetBytes, sliceBytes, owner);
  }

  @Override
  public long rawAddress() {
    owner.requireUsable();
    return address;
  }

  /**
   * Who answers for it.
   *
   * @return the owner
   */
  public SegmentOwner owner() {
    return owner;
  }

  @Override
  public String toString() {
    return bytes + " bytes at 0x" + Long.toHexString(address) + " on device " + device.ordinal();
  }
}
