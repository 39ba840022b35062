package io.holdfast.backend.hip;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;

/** The system calls that tests make by themselves. */
final class LibC {
  private LibC() {}

  /** Closes a raw descriptor. */
  @SuppressWarnings("restricted")
  static void close(int descriptor) {
    Linker linker = Linker.nativeLinker();
    var close =
        linker.downcallHandle(
            linker.defaultLookup().findOrThrow("close"), FunctionDescriptor.of(JAVA_INT, JAVA_INT));
    int code;
    try {
      code = (int) close.invokeExact(descriptor);
    } catch (Throwable bug) {
      throw new AssertionError(bug);
    }
    if (code != 0) {
      throw new IllegalStateException("descriptor " + descriptor + " cannot be closed");
    }
  }
}
