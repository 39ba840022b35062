package io.holdfast.bench.suite;

import io.holdfast.Backend;
import io.holdfast.Backends;
import io.holdfast.Device;
import io.holdfast.bench.experiment.NativeTools;
import io.holdfast.copy.CopyOptions;
import io.holdfast.copy.CopyPath;
import io.holdfast.device.DeviceAllocation;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.host.HostRequest;
import io.holdfast.layout.BlockShape;
import io.holdfast.pool.HostPool;
import io.holdfast.pool.PoolOptions;

/**
 * A pool of 4 KiB blocks on a CUDA driver that does nothing.
 *
 * @param backend all of it
 * @param pool whose copies go by one path
 */
record NoOpPool(Backend backend, HostPool pool) implements AutoCloseable {
  private static final BlockShape SHAPE = BlockShape.of(1, 4096);

  /** Opens one; needs a C compiler. */
  static NoOpPool open(int blocks, CopyPath path) {
    System.setProperty(
        "holdfast.cuda.library", NativeTools.unpack().noopDriver().toAbsolutePath().toString());
    Backend backend = Backends.select("cuda");
    Device device = backend.open(0);
    DeviceAllocation memory = device.memory().allocate(blocks * SHAPE.bytes());
    HostPool pool =
        HostPool.open(
            device,
            DeviceBlocks.of(memory.segment(), SHAPE.blockMajor(blocks)),
            HostRequest.ofBytes(blocks * SHAPE.bytes()),
            PoolOptions.defaults().copy(CopyOptions.auto().path(path)));
    return new NoOpPool(backend, pool);
  }

  @Override
  public void close() {
    backend.close();
  }
}
