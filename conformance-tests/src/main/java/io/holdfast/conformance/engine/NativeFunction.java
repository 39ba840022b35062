package io.holdfast.conformance.engine;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.util.ArrayList;
import java.util.List;

/** One function of a driver: it answers with a code, 0 for success. Any thread. */
final class NativeFunction {
  private final String name;
  private final MethodHandle handle;

  private NativeFunction(String name, MethodHandle handle) {
    this.name = name;
    this.handle = handle;
  }

  /**
   * Finds a function.
   *
   * @param library that exports it
   * @param name as it is exported
   * @param arguments their C types
   * @throws IllegalStateException where it is not exported
   */
  @SuppressWarnings("restricted")
  static NativeFunction of(SymbolLookup library, String name, MemoryLayout... arguments) {
    MemorySegment address =
        library
            .find(name)
            .orElseThrow(
                () -> new IllegalStateException("an engine needs " + name + ", which is absent"));
    return new NativeFunction(
        name,
        Linker.nativeLinker().downcallHandle(address, FunctionDescriptor.of(JAVA_INT, arguments)));
  }

  /** A function whose first argument is where it puts what it makes. */
  static NativeFunction making(SymbolLookup library, String name, MemoryLayout... more) {
    List<MemoryLayout> all = new ArrayList<>(List.of(ADDRESS));
    all.addAll(List.of(more));
    return of(library, name, all.toArray(MemoryLayout[]::new));
  }

  /** Calls; the code is the caller's to judge. */
  int code(Object... arguments) {
    try {
      return (int) handle.invokeWithArguments(arguments);
    } catch (Throwable bug) {
      throw new AssertionError(name, bug);
    }
  }

  /** Calls; anything but success is an error. */
  void call(Object... arguments) {
    check(code(arguments));
  }

  /** Calls a function that makes something, and answers what: a handle, or a smaller number. */
  long make(Object... more) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment out = arena.allocate(JAVA_LONG);
      List<Object> all = new ArrayList<>(List.of(out));
      all.addAll(List.of(more));
      call(all.toArray());
      return out.get(JAVA_LONG, 0); // zero above an int: both drivers run on little endians only
    }
  }

  private void check(int code) {
    if (code != 0) {
      throw new IllegalStateException("the engine's " + name + " answered " + code);
    }
  }
}
