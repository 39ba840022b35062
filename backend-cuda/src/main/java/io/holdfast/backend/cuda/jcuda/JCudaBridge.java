package io.holdfast.backend.cuda.jcuda;

import io.holdfast.Backend;
import io.holdfast.Device;
import io.holdfast.backend.cuda.JCudaSupport;
import io.holdfast.device.DeviceEvent;
import io.holdfast.device.DeviceInfo;
import io.holdfast.device.DeviceSegment;
import io.holdfast.device.DeviceStream;
import io.holdfast.host.HostMemory;
import java.util.Objects;
import jcuda.Pointer;
import jcuda.driver.CUcontext;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUevent;
import jcuda.driver.CUstream;

/**
 * JCuda objects in, JCuda objects out; nothing is copied, nothing is closed.
 *
 * <p>Works with either binding of the CUDA backend, since handles are the driver's. JCuda may be on
 * the class path or on the module path. Safe from any thread.
 */
@SuppressWarnings("exports") // only callers who have jcuda can name these types
public final class JCudaBridge {
  static {
    try {
      JCudaSupport.readClasses();
    } catch (ClassNotFoundException missing) {
      throw new NoClassDefFoundError("JCuda, which this bridge is for, is not there: " + missing);
    }
  }

  private final Device device;

  private JCudaBridge(Device device) {
    this.device = device;
  }

  /**
   * For a device opened by Holdfast.
   *
   * @param device of the CUDA backend
   * @return its bridge
   */
  public static JCudaBridge on(Device device) {
    return new JCudaBridge(Objects.requireNonNull(device, "device"));
  }

  /**
   * Opens a device on the engine's own context, which stays the engine's.
   *
   * @param backend the CUDA backend
   * @param device the context's device
   * @param context alive for as long as the device is open
   * @return the open device
   */
  public static Device open(Backend backend, DeviceInfo device, CUcontext context) {
    return backend.wrapContext(device, JCudaObjects.handle(context));
  }

  /**
   * An engine's stream, as a point of order.
   *
   * @param stream not a default stream
   * @return the stream; closing it leaves the engine's alone
   */
  public DeviceStream stream(CUstream stream) {
    return device.wrapStream(JCudaObjects.handle(stream));
  }

  /**
   * An engine's event.
   *
   * @param event recorded, by the engine's word
   * @return the event; closing it leaves the engine's alone
   */
  public DeviceEvent event(CUevent event) {
    return device.wrapEvent(JCudaObjects.handle(event));
  }

  /**
   * An engine's memory, checked against the driver's account of it.
   *
   * @param pointer into one allocation
   * @param bytes from there on
   * @return the segment
   */
  public DeviceSegment memory(CUdeviceptr pointer, long bytes) {
    return device.wrapMemory(JCudaObjects.address(pointer), bytes);
  }

  /**
   * Our device memory for an engine's calls.
   *
   * @param memory usable
   * @return a pointer to its first byte
   */
  public CUdeviceptr pointer(DeviceSegment memory) {
    return new CUdeviceptr().withByteOffset(memory.rawAddress());
  }

  /**
   * Our host memory for an engine's calls, valid while the region is open.
   *
   * @param memory populated
   * @return a pointer to its first byte
   */
  public Pointer pointer(HostMemory memory) {
    return JCudaObjects.at(memory.segment().address());
  }
}
