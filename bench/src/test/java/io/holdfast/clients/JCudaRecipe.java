package io.holdfast.clients;

import static io.holdfast.device.Order.after;
import static io.holdfast.device.Order.asIfOn;

import io.holdfast.Backend;
import io.holdfast.Device;
import io.holdfast.backend.cuda.jcuda.JCudaBridge;
import io.holdfast.copy.BlockCopies;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.device.DeviceEvent;
import io.holdfast.device.DeviceInfo;
import io.holdfast.device.DeviceStream;
import io.holdfast.host.HostRequest;
import io.holdfast.layout.BlockLayout;
import io.holdfast.pool.HostPool;
import jcuda.driver.CUcontext;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUevent;
import jcuda.driver.CUstream;

/** The recipe of docs/engine-guide.md for engines on JCuda: compiled with every build. */
final class JCudaRecipe {
  private JCudaRecipe() {}

  static void run(
      Backend backend,
      DeviceInfo info,
      CUcontext context,
      CUstream stream,
      CUevent kvWritten,
      CUdeviceptr kv,
      BlockLayout layout,
      HostRequest memory) {
    // guide: jcuda
    try (Device device = JCudaBridge.open(backend, info, context)) {
      JCudaBridge jcuda = JCudaBridge.on(device);
      DeviceBlocks blocks = DeviceBlocks.of(jcuda.memory(kv, layout.extentBytes()), layout);
      try (DeviceStream compute = jcuda.stream(stream);
          DeviceEvent written = jcuda.event(kvWritten);
          HostPool pool = HostPool.open(device, blocks, memory)) {
        BlockCopies copies = BlockCopies.device(7, 8, 9).host(0, 1, 2);
        pool.store(copies, after(written)).await();
        pool.load(copies, asIfOn(compute));
      }
    } // context, stream and event are the engine's, and still are when this is closed
    // guide: end
  }
}
