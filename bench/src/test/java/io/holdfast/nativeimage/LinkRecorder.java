package io.holdfast.nativeimage;

import java.lang.StackWalker.StackFrame;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.invoke.VarHandle;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Stands in for the linker and for reflective look-ups in classes of {@link RecordingLoader}: does
 * what they would do, and writes down what was asked and by whom.
 */
public final class LinkRecorder {
  /** What was asked for. */
  sealed interface Use {
    /** The class that asked. */
    String by();

    /** A call into C. */
    record Downcall(String by, FunctionDescriptor shape, List<Linker.Option> options)
        implements Use {}

    /** A call from C. */
    record Upcall(String by, FunctionDescriptor shape, List<Linker.Option> options)
        implements Use {}

    /** A method by name. */
    record NamedMethod(String by, String type, String name, MethodType shape) implements Use {}

    /** A field by name. */
    record NamedField(String by, String type, String name) implements Use {}
  }

  private static final StackWalker STACK =
      StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE);
  private static final Queue<Use> USES = new ConcurrentLinkedQueue<>();
  private static final Set<String> REACHED = ConcurrentHashMap.newKeySet();

  private LinkRecorder() {}

  static List<Use> uses() {
    return List.copyOf(USES);
  }

  /** The methods from which something was asked, as {@link RecordingLoader#asking} writes them. */
  static Set<String> reached() {
    return Set.copyOf(REACHED);
  }

  /** For {@link Linker#downcallHandle(MemorySegment, FunctionDescriptor, Linker.Option...)}. */
  public static MethodHandle downcallHandle(
      Linker linker, MemorySegment symbol, FunctionDescriptor shape, Linker.Option... options) {
    USES.add(new Use.Downcall(caller(), shape, List.of(options)));
    return linker.downcallHandle(symbol, shape, options);
  }

  /** For {@link Linker#downcallHandle(FunctionDescriptor, Linker.Option...)}. */
  public static MethodHandle downcallHandle(
      Linker linker, FunctionDescriptor shape, Linker.Option... options) {
    USES.add(new Use.Downcall(caller(), shape, List.of(options)));
    return linker.downcallHandle(shape, options);
  }

  /** For {@link Linker#upcallStub}. */
  public static MemorySegment upcallStub(
      Linker linker,
      MethodHandle target,
      FunctionDescriptor shape,
      Arena arena,
      Linker.Option... options) {
    USES.add(new Use.Upcall(caller(), shape, List.of(options)));
    return linker.upcallStub(target, shape, arena, options);
  }

  /** For {@link MethodHandles.Lookup#findStatic}. */
  public static MethodHandle findStatic(
      MethodHandles.Lookup lookup, Class<?> type, String name, MethodType shape)
      throws ReflectiveOperationException {
    USES.add(new Use.NamedMethod(caller(), type.getName(), name, shape));
    return lookup.findStatic(type, name, shape);
  }

  /** For {@link MethodHandles.Lookup#findVirtual}. */
  public static MethodHandle findVirtual(
      MethodHandles.Lookup lookup, Class<?> type, String name, MethodType shape)
      throws ReflectiveOperationException {
    USES.add(new Use.NamedMethod(caller(), type.getName(), name, shape));
    return lookup.findVirtual(type, name, shape);
  }

  /** For {@link MethodHandles.Lookup#findVarHandle}. */
  public static VarHandle findVarHandle(
      MethodHandles.Lookup lookup, Class<?> owner, String name, Class<?> type)
      throws ReflectiveOperationException {
    USES.add(new Use.NamedField(caller(), owner.getName(), name));
    return lookup.findVarHandle(owner, name, type);
  }

  private static String caller() {
    StackFrame frame =
        STACK.walk(
            frames ->
                frames
                    .filter(one -> one.getDeclaringClass() != LinkRecorder.class)
                    .findFirst()
                    .orElseThrow());
    REACHED.add(frame.getClassName() + "." + frame.getMethodName() + frame.getDescriptor());
    return frame.getClassName();
  }
}
