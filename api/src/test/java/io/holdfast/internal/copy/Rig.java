package io.holdfast.internal.copy;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import io.holdfast.copy.CopyOptions;
import io.holdfast.copy.CopyRoute;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.device.DeviceInfo;
import io.holdfast.device.DeviceStream;
import io.holdfast.internal.Segment;
import io.holdfast.internal.SegmentOwner;
import io.holdfast.internal.core.CoreDevice;
import io.holdfast.internal.slots.HostSlots;
import io.holdfast.internal.tree.Standing;
import io.holdfast.internal.tree.UseCount;
import io.holdfast.layout.BlockLayout;
import java.lang.foreign.MemorySegment;

/** One fake device with memory on both sides, filled with bytes that tell where they come from. */
final class Rig implements AutoCloseable {
  final FakePort port;
  final CoreDevice core;
  final MemorySegment device;
  final FakePinned pinned;
  final Owner owner;
  final BlockLayout deviceLayout;
  final BlockLayout hostLayout;
  final HostSlots slots;
  final DeviceBlocks blocks;

  Rig(FakePort port, BlockLayout deviceLayout, BlockLayout hostLayout, long... cuts) {
    this.port = port;
    this.deviceLayout = deviceLayout;
    this.hostLayout = hostLayout;
    core = FakeDriver.open(port);
    device = port.deviceMemory(deviceLayout.extentBytes());
    pinned = new FakePinned(core, port, hostLayout.extentBytes(), cuts);
    long whole = device.byteSize() / 8 * 8;
    for (long at = 0; at < whole; at += 8) {
      device.set(JAVA_LONG_UNALIGNED, at, (at + 1) * 0x9E3779B97F4A7C15L);
    }
    for (long at = whole; at < device.byteSize(); at++) {
      device.set(JAVA_BYTE, at, (byte) (at * 7 + 1));
    }
    owner = new Owner(core.standing());
    blocks = DeviceBlocks.of(segment(core.info()), deviceLayout);
    slots = HostSlots.of(pinned, hostLayout);
  }

  static Rig of(BlockLayout deviceLayout, BlockLayout hostLayout, long... cuts) {
    return new Rig(new FakePort(), deviceLayout, hostLayout, cuts);
  }

  Segment segment(DeviceInfo info) {
    return new Segment(info, device.address(), device.byteSize(), owner);
  }

  CopyRoute route(CopyOptions options) {
    return core.copyEngine().route(blocks, slots, options);
  }

  CopyRoute route() {
    return route(CopyOptions.auto());
  }

  DeviceStream engineStream() {
    return core.wrapStream(port.engineStream());
  }

  /** One part of a block on the device. */
  byte[] onDevice(int part, long block) {
    return bytes(device, deviceLayout, part, block);
  }

  /** One part of a slot on the host. */
  byte[] onHost(int part, long slot) {
    return bytes(pinned.segment(), hostLayout, part, slot);
  }

  private static byte[] bytes(MemorySegment memory, BlockLayout layout, int part, long block) {
    var plane = layout.planes().get(part);
    return memory.asSlice(plane.blockOffsetBytes(block), plane.blockBytes()).toArray(JAVA_BYTE);
  }

  @Override
  public void close() {
    port.run();
    core.backend().close();
  }

  /** Owns the device memory, and counts. */
  static final class Owner extends Standing implements SegmentOwner {
    private final UseCount uses = new UseCount();

    Owner(Standing ground) {
      super("the test's device memory", ground);
      enrol();
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
    protected void release() {}
  }
}
