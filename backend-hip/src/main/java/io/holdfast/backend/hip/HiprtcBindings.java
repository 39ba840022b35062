package io.holdfast.backend.hip;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.util.ArrayList;
import java.util.List;

/**
 * HIP's run-time compiler through the foreign function interface. One Java method for each C
 * function, with its code as the result; no checks and no policy.
 *
 * <p>The compiler is exported by the runtime's own library up to version 6, and by one of its own
 * beside it from 5 on.
 */
final class HiprtcBindings {
  private static final MethodHandle HIPRTC_GET_ERROR_STRING =
      linked(FunctionDescriptor.of(ADDRESS, JAVA_INT));

  private static final MethodHandle HIPRTC_CREATE_PROGRAM =
      downcall(ADDRESS, ADDRESS, ADDRESS, JAVA_INT, ADDRESS, ADDRESS);

  private static final MethodHandle HIPRTC_COMPILE_PROGRAM = downcall(JAVA_LONG, JAVA_INT, ADDRESS);

  private static final MethodHandle HIPRTC_GET_PROGRAM_LOG_SIZE = downcall(JAVA_LONG, ADDRESS);

  private static final MethodHandle HIPRTC_GET_PROGRAM_LOG = downcall(JAVA_LONG, ADDRESS);

  private static final MethodHandle HIPRTC_GET_CODE_SIZE = downcall(JAVA_LONG, ADDRESS);

  private static final MethodHandle HIPRTC_GET_CODE = downcall(JAVA_LONG, ADDRESS);

  private static final MethodHandle HIPRTC_DESTROY_PROGRAM = downcall(ADDRESS);

  private final List<String> missing = new ArrayList<>();
  private final MemorySegment hiprtcGetErrorString;
  private final MemorySegment hiprtcCreateProgram;
  private final MemorySegment hiprtcCompileProgram;
  private final MemorySegment hiprtcGetProgramLogSize;
  private final MemorySegment hiprtcGetProgramLog;
  private final MemorySegment hiprtcGetCodeSize;
  private final MemorySegment hiprtcGetCode;
  private final MemorySegment hiprtcDestroyProgram;

  /**
   * Looks every function up; calls none.
   *
   * @param symbols a library's exports
   */
  HiprtcBindings(SymbolLookup symbols) {
    hiprtcGetErrorString = find(symbols, "hiprtcGetErrorString");
    hiprtcCreateProgram = find(symbols, "hiprtcCreateProgram");
    hiprtcCompileProgram = find(symbols, "hiprtcCompileProgram");
    hiprtcGetProgramLogSize = find(symbols, "hiprtcGetProgramLogSize");
    hiprtcGetProgramLog = find(symbols, "hiprtcGetProgramLog");
    hiprtcGetCodeSize = find(symbols, "hiprtcGetCodeSize");
    hiprtcGetCode = find(symbols, "hiprtcGetCode");
    hiprtcDestroyProgram = find(symbols, "hiprtcDestroyProgram");
  }

  private MemorySegment find(SymbolLookup symbols, String name) {
    MemorySegment function = symbols.find(name).orElse(MemorySegment.NULL);
    if (function.address() == 0) {
      missing.add(name);
    }
    return function;
  }

  /** Whether the library has all of the compiler. */
  boolean isComplete() {
    return missing.isEmpty();
  }

  /** The compiler's name for a code. */
  @SuppressWarnings("restricted")
  String hiprtcGetErrorString(int code) {
    try {
      MemorySegment words =
          (MemorySegment) HIPRTC_GET_ERROR_STRING.invokeExact(hiprtcGetErrorString, code);
      return words.address() == 0 ? "" : words.reinterpret(Long.MAX_VALUE).getString(0);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  /** {@code source} and {@code name} end with a zero byte; there are no headers. */
  int hiprtcCreateProgram(MemorySegment program, MemorySegment source, MemorySegment name) {
    try {
      return (int)
          HIPRTC_CREATE_PROGRAM.invokeExact(
              hiprtcCreateProgram,
              program,
              source,
              name,
              0,
              MemorySegment.NULL,
              MemorySegment.NULL);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  /** Without an architecture among the options it is the current device's. */
  int hiprtcCompileProgram(long program, int optionCount, MemorySegment options) {
    try {
      return (int)
          HIPRTC_COMPILE_PROGRAM.invokeExact(hiprtcCompileProgram, program, optionCount, options);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  int hiprtcGetProgramLogSize(long program, MemorySegment bytes) {
    try {
      return (int) HIPRTC_GET_PROGRAM_LOG_SIZE.invokeExact(hiprtcGetProgramLogSize, program, bytes);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  int hiprtcGetProgramLog(long program, MemorySegment log) {
    try {
      return (int) HIPRTC_GET_PROGRAM_LOG.invokeExact(hiprtcGetProgramLog, program, log);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  int hiprtcGetCodeSize(long program, MemorySegment bytes) {
    try {
      return (int) HIPRTC_GET_CODE_SIZE.invokeExact(hiprtcGetCodeSize, program, bytes);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  int hiprtcGetCode(long program, MemorySegment code) {
    try {
      return (int) HIPRTC_GET_CODE.invokeExact(hiprtcGetCode, program, code);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  int hiprtcDestroyProgram(MemorySegment program) {
    try {
      return (int) HIPRTC_DESTROY_PROGRAM.invokeExact(hiprtcDestroyProgram, program);
    } catch (Throwable bug) {
      throw bug(bug);
    }
  }

  private static MethodHandle downcall(MemoryLayout... arguments) {
    return linked(FunctionDescriptor.of(JAVA_INT, arguments));
  }

  @SuppressWarnings("restricted")
  private static MethodHandle linked(FunctionDescriptor shape) {
    return Linker.nativeLinker().downcallHandle(shape);
  }

  private static AssertionError bug(Throwable cause) {
    return new AssertionError("a call into HIP's run-time compiler could not be made", cause);
  }
}
