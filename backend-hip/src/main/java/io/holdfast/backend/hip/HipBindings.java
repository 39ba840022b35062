package io.holdfast.backend.hip;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.util.ArrayList;
import java.util.List;

/**
 * {@code libamdhip64} through the foreign function interface.
 *
 * <p>Names are the exact exports. The method handles are constants that know a function's shape;
 * where the function lies is a field, so that one process can look at several libraries. One Java
 * method for each C function, with its code as the result; no checks and no policy.
 */
final class HipBindings {
  // ---- errors: shapes

  private static final MethodHandle HIP_GET_ERROR_NAME = downcall(ADDRESS, JAVA_INT);

  private static final MethodHandle HIP_GET_ERROR_STRING = downcall(ADDRESS, JAVA_INT);

  private static final MethodHandle HIP_GET_LAST_ERROR = downcall(JAVA_INT);

  // ---- library and devices: shapes

  private static final MethodHandle HIP_DRIVER_GET_VERSION = downcall(JAVA_INT, ADDRESS);

  private static final MethodHandle HIP_RUNTIME_GET_VERSION = downcall(JAVA_INT, ADDRESS);

  private static final MethodHandle HIP_GET_DEVICE_COUNT = downcall(JAVA_INT, ADDRESS);

  private final List<String> missing = new ArrayList<>();

  private final MemorySegment hipGetErrorName;
  private final MemorySegment hipGetErrorString;
  private final MemorySegment hipGetLastError;
  private final MemorySegment hipDriverGetVersion;
  private final MemorySegment hipRuntimeGetVersion;
  private final MemorySegment hipGetDeviceCount;

  /**
   * Looks every function up; calls none.
   *
   * @param symbols the library's exports
   */
  HipBindings(SymbolLookup symbols) {
    hipGetErrorName = required(symbols, "hipGetErrorName");
    hipGetErrorString = required(symbols, "hipGetErrorString");
    hipGetLastError = required(symbols, "hipGetLastError");
    hipDriverGetVersion = required(symbols, "hipDriverGetVersion");
    hipRuntimeGetVersion = required(symbols, "hipRuntimeGetVersion");
    hipGetDeviceCount = required(symbols, "hipGetDeviceCount");
  }

  /** Exports without which nothing works and which the library lacks; empty for a runtime. */
  List<String> missing() {
    return List.copyOf(missing);
  }

  // ---- errors

  /** The runtime's name for a code; it has one for every number. */
  String hipGetErrorName(int code) {
    try {
      return text((MemorySegment) HIP_GET_ERROR_NAME.invokeExact(hipGetErrorName, code));
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  /** The runtime's text for a code; version 5.2 repeats the name. */
  String hipGetErrorString(int code) {
    try {
      return text((MemorySegment) HIP_GET_ERROR_STRING.invokeExact(hipGetErrorString, code));
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  /** Clears the calling thread's last error, which other users of HIP in this process would see. */
  int hipGetLastError() {
    try {
      return (int) HIP_GET_LAST_ERROR.invokeExact(hipGetLastError);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  // ---- library and devices

  int hipDriverGetVersion(MemorySegment version) {
    try {
      return (int) HIP_DRIVER_GET_VERSION.invokeExact(hipDriverGetVersion, version);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  int hipRuntimeGetVersion(MemorySegment version) {
    try {
      return (int) HIP_RUNTIME_GET_VERSION.invokeExact(hipRuntimeGetVersion, version);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  int hipGetDeviceCount(MemorySegment count) {
    try {
      return (int) HIP_GET_DEVICE_COUNT.invokeExact(hipGetDeviceCount, count);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  // ---- how calls are made

  private MemorySegment required(SymbolLookup symbols, String name) {
    MemorySegment function = symbols.find(name).orElse(MemorySegment.NULL);
    if (function.address() == 0) {
      missing.add(name);
    }
    return function;
  }

  @SuppressWarnings("restricted")
  private static MethodHandle downcall(MemoryLayout result, MemoryLayout... arguments) {
    return Linker.nativeLinker().downcallHandle(FunctionDescriptor.of(result, arguments));
  }

  @SuppressWarnings("restricted")
  private static String text(MemorySegment words) {
    return words.address() == 0 ? "" : words.reinterpret(Long.MAX_VALUE).getString(0);
  }

  /** A downcall does not throw by itself: what arrives here is a fault of this class. */
  private static AssertionError bug(Throwable cause) {
    return new AssertionError("a call into the HIP runtime could not be made", cause);
  }
}
