package io.holdfast.conformance.engine;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.holdfast.Device;
import io.holdfast.conformance.Engine;
import io.holdfast.conformance.EngineProvider;
import java.lang.foreign.SymbolLookup;
import java.util.Optional;

/** An engine in a context of its own on CUDA's driver. */
public final class CudaEngine extends NativeEngine {
  private static final Names NAMES =
      new Names(
          "cuStreamCreateWithPriority",
          "cuStreamQuery",
          "cuStreamSynchronize",
          "cuStreamDestroy_v2",
          "cuStreamBeginCapture_v2",
          "cuStreamEndCapture",
          "cuGraphDestroy",
          "cuEventCreate",
          "cuEventRecord",
          "cuEventDestroy_v2");

  private final NativeFunction ctxGetCurrent;
  private final NativeFunction ctxSetCurrent;
  private final NativeFunction ctxDestroy;
  private final long context;

  /**
   * Makes its context.
   *
   * @param libcuda the driver, started
   * @param device its number
   * @throws IllegalStateException where the driver refuses, or lacks a function
   */
  public CudaEngine(SymbolLookup libcuda, int device) {
    super(libcuda, NAMES, HostFunction.launched(libcuda, "cuLaunchHostFunc"));
    ctxGetCurrent = NativeFunction.making(libcuda, "cuCtxGetCurrent");
    ctxSetCurrent = NativeFunction.of(libcuda, "cuCtxSetCurrent", JAVA_LONG);
    ctxDestroy = NativeFunction.of(libcuda, "cuCtxDestroy_v2", JAVA_LONG);
    context = NativeFunction.making(libcuda, "cuCtxCreate_v2", JAVA_INT, JAVA_INT).make(0, device);
    NativeFunction.making(libcuda, "cuCtxPopCurrent_v2").make(); // making it left it current
  }

  @Override
  public long context() {
    return context;
  }

  @Override
  public void makeCurrent() {
    ctxSetCurrent.call(context);
  }

  @Override
  public long current() {
    return ctxGetCurrent.make();
  }

  @Override
  long enter() {
    long before = current();
    makeCurrent();
    return before;
  }

  @Override
  void leave(long before) {
    ctxSetCurrent.call(before);
  }

  @Override
  void end() {
    if (current() == context) {
      ctxSetCurrent.call(0L);
    }
    ctxDestroy.call(context);
  }

  /** Finds the driver that the backend has loaded into this process. */
  public static final class Provider implements EngineProvider {
    /** For service loaders. */
    public Provider() {}

    @Override
    public String backend() {
      return "cuda";
    }

    @Override
    public Optional<Engine> engine(Device device) {
      return LoadedLibrary.find("libcuda.so", "holdfast.cuda.library")
          .map(library -> new CudaEngine(library, device.info().ordinal()));
    }
  }
}
