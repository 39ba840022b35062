package io.holdfast.backend.cuda;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.util.Arrays;
import java.util.Locale;

/**
 * Any C function by its name, with the shape that its arguments have: for checks that compare a
 * driver's answers, where the binding's own methods would be in the way.
 */
class RawCalls {
  private final SymbolLookup symbols;

  RawCalls(SymbolLookup symbols) {
    this.symbols = symbols;
  }

  /** The functions of libc. */
  static RawCalls libc() {
    return new RawCalls(Linker.nativeLinker().defaultLookup());
  }

  boolean has(String name) {
    return symbols.find(name).isPresent();
  }

  /** Calls a function that returns an int; arguments are Integer, Long, Byte or MemorySegment. */
  int call(String name, Object... arguments) {
    return (int) invoke(name, JAVA_INT, arguments);
  }

  /** Calls a function that returns a long or a pointer. */
  long callLong(String name, Object... arguments) {
    return (long) invoke(name, JAVA_LONG, arguments);
  }

  @SuppressWarnings("restricted")
  Object invoke(String name, MemoryLayout result, Object... arguments) {
    MemorySegment function =
        symbols.find(name).orElseThrow(() -> new IllegalStateException(name + " is not exported"));
    MemoryLayout[] shape =
        Arrays.stream(arguments).map(RawCalls::layout).toArray(MemoryLayout[]::new);
    try {
      return Linker.nativeLinker()
          .downcallHandle(function, FunctionDescriptor.of(result, shape))
          .invokeWithArguments(arguments);
    } catch (Throwable bug) {
      throw new AssertionError(
          String.format(Locale.ROOT, "%s%s", name, Arrays.toString(arguments)), bug);
    }
  }

  private static MemoryLayout layout(Object argument) {
    return switch (argument) {
      case Integer _ -> JAVA_INT;
      case Long _ -> JAVA_LONG;
      case Byte _ -> JAVA_BYTE;
      case MemorySegment _ -> ADDRESS;
      default -> throw new IllegalArgumentException("no C type for " + argument);
    };
  }
}
