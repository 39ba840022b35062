package io.holdfast.internal.core;

import io.holdfast.device.DeviceAllocation;
import io.holdfast.device.DeviceMemory;
import io.holdfast.device.DeviceSegment;
import io.holdfast.device.ExtensibleRegion;
import io.holdfast.device.ExtensibleRequest;
import io.holdfast.device.ImportedRegion;
import io.holdfast.device.MemoryInfo;
import io.holdfast.device.RegionDescriptor;
import io.holdfast.device.Support;
import io.holdfast.error.BusyException;
import io.holdfast.internal.Segment;
import io.holdfast.internal.SegmentOwner;
import io.holdfast.internal.extensible.ExtensibleRegions;
import io.holdfast.internal.tree.Standing;
import io.holdfast.internal.tree.UseCount;
import io.holdfast.spi.DeviceRange;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Memory of one open device. */
public final class CoreMemory implements DeviceMemory {
  private final CoreDevice device;

  /**
   * Over the device's port.
   *
   * @param device whose
   */
  public CoreMemory(CoreDevice device) {
    this.device = device;
  }

  @Override
  public DeviceAllocation allocate(long bytes) {
    device.standing().requireOpen();
    if (bytes <= 0) {
      throw new IllegalArgumentException("bytes must be positive, not " + bytes);
    }
    DeviceRange range = device.workers().call(() -> device.port().allocate(bytes));
    try {
      return Standing.enrolled(new Allocation(device, range));
    } catch (Throwable failure) {
      device.port().free(range);
      throw failure;
    }
  }

  @Override
  public ExtensibleRegion reserve(ExtensibleRequest request) {
    device.standing().requireOpen();
    return ExtensibleRegions.reserve(device, request);
  }

  @Override
  public long granuleBytes(ExtensibleRequest request) {
    device.standing().requireOpen();
    return ExtensibleRegions.granuleBytes(device, request);
  }

  @Override
  public Support extensibleSupport() {
    device.standing().requireOpen();
    return ExtensibleRegions.support(device);
  }

  @Override
  public ImportedRegion importRegion(RegionDescriptor descriptor) {
    device.standing().requireOpen();
    return ExtensibleRegions.importRegion(device, descriptor);
  }

  @Override
  public MemoryInfo info() {
    device.standing().requireOpen();
    return device.port().memoryInfo();
  }

  /** An ordinary allocation. */
  private static final class Allocation extends Standing implements DeviceAllocation, SegmentOwner {
    private final CoreDevice device;
    private final DeviceRange range;
    private final DeviceSegment segment;
    private final UseCount uses = new UseCount();

    Allocation(CoreDevice device, DeviceRange range) {
      super(
          "device allocation of "
              + range.bytes()
              + " bytes at 0x"
              + Long.toHexString(range.address()),
          device.standing());
      this.device = device;
      this.range = range;
      this.segment = new Segment(device.info(), range.address(), range.bytes(), this);
    }

    @Override
    public DeviceSegment segment() {
      requireOpen();
      return segment;
    }

    @Override
    public void requireUsable() {
      requireOpen();
    }

    @Override
    public Standing standing() {
      return this;
    }

    @Override
    public UseCount uses() {
      return uses;
    }

    @Override
    protected void shut() {
      uses.shut();
    }

    @Override
    protected void reopen() {
      uses.reopen();
    }

    @Override
    protected void quiesce() {
      if (!uses.awaitUnused(TimeUnit.MINUTES.toNanos(1))) {
        throw new BusyException(
            "closing " + name(), List.of(uses.uses() + " copies that do not end"));
      }
    }

    @Override
    protected void release() {
      device.workers().run(() -> device.port().free(range));
    }
  }
}
