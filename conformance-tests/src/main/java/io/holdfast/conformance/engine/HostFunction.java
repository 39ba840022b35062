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
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

/** Work of the host in a stream's order, by whichever of the two functions a driver has. */
interface HostFunction {
  /**
   * Has a thread of the driver's run something once the stream gets there. Any thread.
   *
   * @param stream its handle
   * @param body what runs; no driver call may be made there
   * @param arena keeps the native function; must outlive the run
   */
  void enqueue(long stream, Runnable body, Arena arena);

  /**
   * By {@code cuLaunchHostFunc} or {@code hipLaunchHostFunc}.
   *
   * @param library that exports it
   * @param name as it is exported
   * @throws IllegalStateException where it is not exported
   */
  static HostFunction launched(SymbolLookup library, String name) {
    NativeFunction launch = NativeFunction.of(library, name, JAVA_LONG, ADDRESS, ADDRESS);
    return (stream, body, arena) ->
        launch.call(stream, ignoring(body, arena, ADDRESS), MemorySegment.NULL);
  }

  /**
   * By {@code hipStreamAddCallback}, for what is older than {@code hipLaunchHostFunc} (HIP 5.3).
   *
   * @param library that exports it
   * @param name as it is exported
   * @throws IllegalStateException where it is not exported
   */
  static HostFunction calledBack(SymbolLookup library, String name) {
    NativeFunction add = NativeFunction.of(library, name, JAVA_LONG, ADDRESS, ADDRESS, JAVA_INT);
    return (stream, body, arena) ->
        add.call(
            stream,
            ignoring(body, arena, JAVA_LONG, JAVA_INT, ADDRESS), // stream, status, data
            MemorySegment.NULL,
            0);
  }

  /** A native function that leaves its arguments alone and runs something. */
  @SuppressWarnings("restricted")
  private static MemorySegment ignoring(Runnable body, Arena arena, MemoryLayout... arguments) {
    FunctionDescriptor type = FunctionDescriptor.ofVoid(arguments);
    MethodHandle run =
        MethodHandles.dropArguments(RUN.bindTo(body), 0, type.toMethodType().parameterArray());
    return Linker.nativeLinker().upcallStub(run, type, arena);
  }

  /** {@link Runnable#run}. */
  MethodHandle RUN = run();

  private static MethodHandle run() {
    try {
      return MethodHandles.publicLookup()
          .findVirtual(Runnable.class, "run", MethodType.methodType(void.class));
    } catch (ReflectiveOperationException impossible) {
      throw new LinkageError("a method of the JDK", impossible);
    }
  }
}
