package io.holdfast.backend.cpusim.driver;

import java.util.HashSet;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The chapter of loaded code. What a kernel does is the caller's to know, by its name. */
abstract class ModuleCalls extends VirtualMemoryCalls {
  private static final Pattern PTX_VERSION =
      Pattern.compile("^\\s*\\.version\\s+(\\d+)\\.(\\d+)", Pattern.MULTILINE);
  private static final Pattern PTX_ENTRY = Pattern.compile("\\.entry\\s+(\\w+)");

  ModuleCalls(DriverSetup setup) {
    super(setup);
  }

  /**
   * {@code cuModuleLoadData} of PTX: its version must be one that the driver compiles.
   *
   * @param out the module
   * @param text the PTX
   * @return the code; 218 for what is no PTX, 222 for a version that is too new
   */
  public int moduleLoadText(long[] out, String text) {
    Matcher version = PTX_VERSION.matcher(text);
    Set<String> kernels = new HashSet<>();
    Matcher entry = PTX_ENTRY.matcher(text);
    while (entry.find()) {
      kernels.add(entry.group(1));
    }
    int refusal = Codes.SUCCESS;
    if (!version.find() || kernels.isEmpty()) {
      refusal = Codes.INVALID_PTX;
    } else {
      // PTX 8.x came with CUDA 12.x, 9.x with 13.x
      int major = personality.version() / 1000 - 4;
      int minor = personality.version() % 1000 / 10;
      int wantedMajor = Integer.parseInt(version.group(1));
      int wantedMinor = Integer.parseInt(version.group(2));
      if (wantedMajor > major || (wantedMajor == major && wantedMinor > minor)) {
        refusal = Codes.UNSUPPORTED_PTX_VERSION;
      }
    }
    return load(out, kernels, refusal);
  }

  /**
   * {@code hipModuleLoadData}, and {@code cuModuleLoadData} of compiled code, whose kernels the
   * caller has read from it.
   *
   * @param out the module
   * @param kernels their names
   * @return the code
   */
  public int moduleLoad(long[] out, Set<String> kernels) {
    return load(out, Set.copyOf(kernels), Codes.SUCCESS);
  }

  private int load(long[] out, Set<String> kernels, int refusal) {
    return callIn(
        Operation.MODULE_LOAD,
        kernels.size(),
        0,
        0,
        (thread, context) -> {
          int code = unsafe(thread);
          code = code == Codes.SUCCESS ? refusal : code;
          if (code != Codes.SUCCESS) {
            return code;
          }
          LoadedModule made = new LoadedModule(FIRST_MODULE + nextHandle++ * 16, context, kernels);
          modules.put(made.handle(), made);
          out[0] = made.handle();
          return Codes.SUCCESS;
        });
  }

  /**
   * {@code cuModuleUnload}, {@code hipModuleUnload}. Waits for the device.
   *
   * @param handle the module
   * @return the code
   */
  public int moduleUnload(long handle) {
    return callIn(
        Operation.MODULE_UNLOAD,
        handle,
        0,
        0,
        (thread, context) -> {
          int code = unsafe(thread);
          if (code != Codes.SUCCESS) {
            return code;
          }
          LoadedModule gone = modules.get(handle);
          if (gone == null) {
            return Codes.INVALID_HANDLE;
          }
          awaitAll(gone.context());
          modules.remove(handle);
          kernels.removeIf(kernel -> kernel.module().handle() == handle);
          return Codes.SUCCESS;
        });
  }

  /**
   * {@code cuModuleGetFunction}, {@code hipModuleGetFunction}.
   *
   * @param out the function
   * @param handle the module
   * @param name the kernel
   * @return the code; 500 where the module has no such kernel
   */
  public int moduleGetFunction(long[] out, long handle, String name) {
    return callIn(
        Operation.MODULE_GET_FUNCTION,
        handle,
        0,
        0,
        (thread, context) -> {
          LoadedModule there = modules.get(handle);
          if (there == null) {
            return Codes.INVALID_HANDLE;
          }
          if (!there.kernels().contains(name)) {
            return Codes.NOT_FOUND;
          }
          long made = FIRST_MODULE + nextHandle++ * 16;
          kernels.put(made, new LoadedModule.Kernel(there, name));
          out[0] = made;
          return Codes.SUCCESS;
        });
  }

  /**
   * The kernel behind a function, for who runs it.
   *
   * @param function of {@link #moduleGetFunction}
   * @return its name; null where there is none, or its module was unloaded
   */
  public @Nullable String kernelName(long function) {
    lock.lock();
    try {
      LoadedModule.Kernel kernel = kernels.get(function);
      return kernel == null ? null : kernel.name();
    } finally {
      lock.unlock();
    }
  }
}
