package io.holdfast.backend.cpusim.shim;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/** Memory and functions of the C side, by address. */
public final class CMemory {
  private static final ConcurrentMap<String, Long> TEXTS = new ConcurrentHashMap<>();

  private CMemory() {}

  /**
   * Memory from an address on; nothing checks where it ends.
   *
   * @param address any address of this process
   * @return a segment without an end
   */
  @SuppressWarnings("restricted") // what C passes by address is of no known size
  public static MemorySegment at(long address) {
    return MemorySegment.ofAddress(address).reinterpret(Long.MAX_VALUE);
  }

  /**
   * Writes 32 bits where an output is wanted.
   *
   * @param address where, or 0 for nowhere
   * @param value what
   */
  public static void putInt(long address, int value) {
    if (address != 0) {
      at(address).set(ValueLayout.JAVA_INT_UNALIGNED, 0, value);
    }
  }

  /**
   * Writes 64 bits where an output is wanted.
   *
   * @param address where, or 0 for nowhere
   * @param value what
   */
  public static void putLong(long address, long value) {
    if (address != 0) {
      at(address).set(ValueLayout.JAVA_LONG_UNALIGNED, 0, value);
    }
  }

  /**
   * Writes a text and its zero byte into a buffer, shortened to what fits.
   *
   * @param address the buffer
   * @param bytes its size
   * @param text of single-byte characters
   */
  public static void putText(long address, int bytes, String text) {
    String fitting = text.substring(0, Math.min(text.length(), bytes - 1));
    at(address).setString(0, fitting);
  }

  /**
   * A text that C may keep for ever; equal texts have one address.
   *
   * @param text any
   * @return the address of its first byte
   */
  public static long text(String text) {
    return TEXTS.computeIfAbsent(text, one -> Arena.global().allocateFrom(one).address());
  }

  /**
   * Whether the fields of a struct that must be zero are.
   *
   * @param struct where it begins
   * @param offset first byte
   * @param bytes how many
   * @return false where a byte is set
   */
  public static boolean isZero(MemorySegment struct, long offset, long bytes) {
    for (long at = offset; at < offset + bytes; at++) {
      if (struct.get(ValueLayout.JAVA_BYTE, at) != 0) {
        return false;
      }
    }
    return true;
  }

  /**
   * A function of the caller's that takes one pointer, as host functions do.
   *
   * @param function its address
   * @param argument what it is given
   * @return calls it once on the thread that runs it
   */
  public static Runnable function(long function, long argument) {
    return () -> {
      try {
        CallBack.VOID_OF_POINTER.invokeExact(MemorySegment.ofAddress(function), argument);
      } catch (Throwable bug) {
        throw new AssertionError(bug);
      }
    };
  }

  /**
   * A function of the caller's that takes a stream, a code and a pointer, as stream callbacks do.
   *
   * @param function its address
   * @param stream the handle that it is given
   * @param status the code that it is given
   * @param argument the pointer that it is given
   * @return calls it once on the thread that runs it
   */
  public static Runnable callback(long function, long stream, int status, long argument) {
    return () -> {
      try {
        CallBack.VOID_OF_STREAM.invokeExact(
            MemorySegment.ofAddress(function), stream, status, argument);
      } catch (Throwable bug) {
        throw new AssertionError(bug);
      }
    };
  }

  private static final class CallBack {
    static final MethodHandle VOID_OF_POINTER = handle(ValueLayout.JAVA_LONG);
    static final MethodHandle VOID_OF_STREAM =
        handle(ValueLayout.JAVA_LONG, ValueLayout.JAVA_INT, ValueLayout.JAVA_LONG);

    @SuppressWarnings("restricted")
    private static MethodHandle handle(MemoryLayout... arguments) {
      return Linker.nativeLinker().downcallHandle(FunctionDescriptor.ofVoid(arguments));
    }
  }
}
