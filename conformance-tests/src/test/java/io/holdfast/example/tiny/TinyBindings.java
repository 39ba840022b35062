package io.holdfast.example.tiny;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;

/** The functions of libtiny, one handle each. */
final class TinyBindings {
  static final int OK = 0;
  static final int NO_MEMORY = 2;
  static final int BAD_RANGE = 3;
  static final int NOT_REGISTERED = 4;
  static final int REGISTERED = 5;

  private static final ValueLayout.OfLong U64 = ValueLayout.JAVA_LONG;
  private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT;

  private final SymbolLookup library;
  private final MethodHandle alloc;
  private final MethodHandle free;
  private final MethodHandle range;
  private final MethodHandle register;
  private final MethodHandle unregister;
  private final MethodHandle copy;
  private final MethodHandle fill;
  private final MethodHandle freeBytes;
  private final MethodHandle totalBytes;

  TinyBindings(Path path) {
    library = SymbolLookup.libraryLookup(path, Arena.global());
    alloc = handle("tiny_alloc", FunctionDescriptor.of(INT, U64, ValueLayout.ADDRESS));
    free = handle("tiny_free", FunctionDescriptor.of(INT, U64));
    range =
        handle(
            "tiny_range",
            FunctionDescriptor.of(INT, U64, ValueLayout.ADDRESS, ValueLayout.ADDRESS));
    register = handle("tiny_register", FunctionDescriptor.of(INT, U64, U64));
    unregister = handle("tiny_unregister", FunctionDescriptor.of(INT, U64));
    copy = handle("tiny_copy", FunctionDescriptor.ofVoid(U64, U64, U64));
    fill = handle("tiny_fill", FunctionDescriptor.ofVoid(U64, INT, U64));
    freeBytes = handle("tiny_free_bytes", FunctionDescriptor.of(U64));
    totalBytes = handle("tiny_total_bytes", FunctionDescriptor.of(U64));
  }

  private MethodHandle handle(String name, FunctionDescriptor type) {
    MemorySegment symbol =
        library
            .find(name)
            .orElseThrow(() -> new UnsatisfiedLinkError("libtiny has no function " + name));
    return Linker.nativeLinker().downcallHandle(symbol, type);
  }

  /** Answers the code; the address is put into the first word. */
  int alloc(long bytes, MemorySegment address) {
    try {
      return (int) alloc.invokeExact(bytes, address);
    } catch (Throwable impossible) {
      throw new AssertionError(impossible);
    }
  }

  int free(long address) {
    try {
      return (int) free.invokeExact(address);
    } catch (Throwable impossible) {
      throw new AssertionError(impossible);
    }
  }

  int range(long address, MemorySegment start, MemorySegment bytes) {
    try {
      return (int) range.invokeExact(address, start, bytes);
    } catch (Throwable impossible) {
      throw new AssertionError(impossible);
    }
  }

  int register(long address, long bytes) {
    try {
      return (int) register.invokeExact(address, bytes);
    } catch (Throwable impossible) {
      throw new AssertionError(impossible);
    }
  }

  int unregister(long address) {
    try {
      return (int) unregister.invokeExact(address);
    } catch (Throwable impossible) {
      throw new AssertionError(impossible);
    }
  }

  void copy(long to, long from, long bytes) {
    try {
      copy.invokeExact(to, from, bytes);
    } catch (Throwable impossible) {
      throw new AssertionError(impossible);
    }
  }

  void fill(long to, int value, long bytes) {
    try {
      fill.invokeExact(to, value, bytes);
    } catch (Throwable impossible) {
      throw new AssertionError(impossible);
    }
  }

  long freeBytes() {
    try {
      return (long) freeBytes.invokeExact();
    } catch (Throwable impossible) {
      throw new AssertionError(impossible);
    }
  }

  long totalBytes() {
    try {
      return (long) totalBytes.invokeExact();
    } catch (Throwable impossible) {
      throw new AssertionError(impossible);
    }
  }
}
