package io.holdfast.pool;

import io.holdfast.Device;
import io.holdfast.copy.CopyRoute;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.host.HostRegion;
import io.holdfast.host.HostRequest;
import io.holdfast.internal.pool.StandardHostPool;
import io.holdfast.layout.Arrangement;
import io.holdfast.pin.HostBlocks;
import io.holdfast.pin.PinnedRegion;
import java.util.concurrent.CompletableFuture;

/** Host slots for an engine's device blocks: region, pins and route in one. */
public interface HostPool extends CopyRoute, HostBlocks {
  /**
   * As many slots as the bytes hold, at least one; returns when all are usable.
   *
   * @param device where the engine's blocks lie
   * @param blocks the engine's blocks
   * @param memory bytes are a budget: the region holds whole blocks
   * @return the pool
   */
  static HostPool open(Device device, DeviceBlocks blocks, HostRequest memory) {
    return open(device, blocks, memory, PoolOptions.defaults());
  }

  /**
   * With options.
   *
   * @param device where the engine's blocks lie
   * @param blocks the engine's blocks
   * @param memory bytes are a budget: the region holds whole blocks
   * @param options how
   * @return the pool
   */
  static HostPool open(
      Device device, DeviceBlocks blocks, HostRequest memory, PoolOptions options) {
    return StandardHostPool.open(device, blocks, memory, options);
  }

  /**
   * Returns at once; slots below {@link #readySlots()} can be used while the rest is made.
   *
   * <p>Memory becomes usable from its start on. A slot needs all its parts, so with {@link
   * Arrangement#BLOCK_MAJOR}, which this takes, slots become ready one after another. With {@link
   * Arrangement#LAYER_MAJOR}, which {@link PoolOptions#defaults} has, the first is ready only when
   * the last part's plane is reached, for nearly all is pinned by then.
   *
   * @param device where the engine's blocks lie
   * @param blocks the engine's blocks
   * @param memory bytes are a budget: the region holds whole blocks
   * @return the pool
   */
  static HostPool openInBackground(Device device, DeviceBlocks blocks, HostRequest memory) {
    return openInBackground(
        device, blocks, memory, PoolOptions.defaults().arrangement(Arrangement.BLOCK_MAJOR));
  }

  /**
   * With options.
   *
   * @param device where the engine's blocks lie
   * @param blocks the engine's blocks
   * @param memory bytes are a budget: the region holds whole blocks
   * @param options how
   * @return the pool
   */
  static HostPool openInBackground(
      Device device, DeviceBlocks blocks, HostRequest memory, PoolOptions options) {
    return StandardHostPool.openInBackground(device, blocks, memory, options);
  }

  /**
   * Done when every slot is usable, failed when that never will be.
   *
   * @return a copy; completing it changes nothing here
   */
  CompletableFuture<Void> ready();

  /**
   * The memory under it, with its receipt.
   *
   * @return the region
   */
  HostRegion region();

  /**
   * The pins under it, with their plan.
   *
   * @return the pins
   */
  PinnedRegion pinned();

  /**
   * Waits for copies in flight, unregisters, unmaps. Idempotent.
   *
   * @throws io.holdfast.error.BusyException while a lease or hold is out; nothing is undone
   */
  @Override
  void close();
}
