package io.holdfast.internal.copy;

import io.holdfast.copy.CopyEngine;
import io.holdfast.copy.CopyOptions;
import io.holdfast.copy.CopyRoute;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.host.HostMemory;
import io.holdfast.internal.core.CoreDevice;
import io.holdfast.internal.slots.HostSlots;
import io.holdfast.internal.slots.SlotsHolder;
import io.holdfast.internal.slots.UnpinnedSlots;
import io.holdfast.layout.BlockLayout;
import io.holdfast.pin.HostBlocks;
import java.util.Locale;

/** Copies of one device, above the accelerator port. Safe from any thread. */
public final class StandardCopyEngine implements CopyEngine {
  private final CoreDevice device;
  private final DeviceProfile profiles;

  /**
   * Over the device's port.
   *
   * @param device whose
   */
  public StandardCopyEngine(CoreDevice device) {
    this.device = device;
    this.profiles = new DeviceProfile(device, ProfileStore.ofThisUser());
  }

  @Override
  public CopyRoute route(DeviceBlocks blocks, HostBlocks host, CopyOptions options) {
    device.standing().requireOpen();
    HostBlocks inner = host;
    while (inner instanceof SlotsHolder holder) {
      inner = holder.held();
    }
    if (!blocks.shape().equals(inner.shape())) {
      throw new IllegalArgumentException(
          String.format(
                  Locale.ROOT,
                  "the sides have different shapes: device blocks of %d parts with %d bytes, slots"
                      + " of %d",
                  blocks.shape().parts(),
                  blocks.shape().bytes(),
                  inner.shape().parts())
              + " parts with "
              + inner.shape().bytes()
              + " bytes; each part must be equal");
    }
    if (!blocks.device().equals(device.info())) {
      throw new IllegalArgumentException(
          "the blocks lie on device "
              + blocks.device().ordinal()
              + ", this engine copies on device "
              + device.info().ordinal());
    }
    if (inner instanceof HostSlots slots) {
      return StandardRoute.open(device, blocks, slots, options, profileFor(options));
    }
    if (inner instanceof UnpinnedSlots slots) {
      return StagedRoute.open(device, blocks, slots, options, profileFor(options));
    }
    throw new IllegalArgumentException(
        "the slots " + host + " were not made by PinnedRegion.blocks or a copy engine");
  }

  /** Measures at most once, and only for routes whose path is left to measurements. */
  private CopyProfile profileFor(CopyOptions options) {
    return options.path().isPresent()
        ? CopyProfile.unknown("the route's path is fixed")
        : device.workers().call(profiles::get);
  }

  @Override
  public HostBlocks staged(HostMemory unpinned, BlockLayout layout) {
    return UnpinnedSlots.of(device.standing(), unpinned, layout);
  }
}
