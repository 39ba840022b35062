package io.holdfast.conformance;

import io.holdfast.conformance.tap.Call;
import io.holdfast.conformance.tap.Tap;
import io.holdfast.conformance.tap.Twist;
import io.holdfast.spi.AcceleratorDriver;
import io.holdfast.spi.CopyTable;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.Interposer;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.UnaryOperator;

/** Ways to be wrong. */
final class Wrong {
  private Wrong() {}

  /** One call that becomes something else. */
  static Tap call(String name, Twist twist) {
    Tap tap = new Tap();
    tap.twist(name, twist);
    return tap;
  }

  /** Several calls that become something else. */
  static Tap calls(Map<String, Twist> twists) {
    Tap tap = new Tap();
    twists.forEach(tap::twist);
    return tap;
  }

  /** Calls that are never made, though the caller thinks so. */
  static Tap forgets(String... names) {
    Tap tap = new Tap();
    for (String name : names) {
      tap.twist(name, (_, _) -> null);
    }
    return tap;
  }

  /** A call of which every refusal is swallowed. */
  static Tap swallows(String name) {
    return call(
        name,
        (_, through) -> {
          try {
            return through.go();
          } catch (RuntimeException refused) {
            return null;
          }
        });
  }

  /** A memory range that is another one. */
  static Twist range(UnaryOperator<MemorySegment> other) {
    return (call, through) -> through.goWith(other.apply(call.argument(MemorySegment.class, 0)));
  }

  /** The rows of a copy call that are other ones; the first three arguments are table, from, to. */
  static Twist rows(UnaryOperator<List<Call.Row>> other) {
    return (call, through) -> {
      CopyTable table = call.argument(CopyTable.class, 0);
      List<Call.Row> rows = other.apply(call.rows());
      if (rows.isEmpty()) {
        return null;
      }
      MemorySegment columns = Arena.ofAuto().allocate(24L * rows.size(), 8);
      CopyTable changed =
          new CopyTable(
              columns.asSlice(0, 8L * rows.size()),
              columns.asSlice(8L * rows.size(), 8L * rows.size()),
              columns.asSlice(16L * rows.size(), 8L * rows.size()),
              table.direction());
      for (int i = 0; i < rows.size(); i++) {
        Call.Row row = rows.get(i);
        changed.set(i, row.destination(), row.source(), row.bytes());
      }
      boolean each = call.name().equals("DevicePort.copyEach");
      return each
          ? through.goWith(changed, 0L, (long) rows.size(), call.argument(Object.class, 3))
          : through.goWith(
              changed,
              0L,
              (long) rows.size(),
              call.argument(Object.class, 3),
              call.argument(Object.class, 4));
    };
  }

  /** Rows changed on both paths that take tables of any kind. */
  static Interposer copies(UnaryOperator<List<Call.Row>> other) {
    Twist twist = rows(other);
    return calls(Map.of("DevicePort.copyEach", twist, "BatchCopyPort.copyBatch", twist));
  }

  /** Rows changed on the way to the device only. */
  static Interposer loads(UnaryOperator<List<Call.Row>> other) {
    Twist changed = rows(other);
    Twist twist =
        (call, through) ->
            call.argument(CopyTable.class, 0).direction() == CopyTable.Direction.HOST_TO_DEVICE
                ? changed.answer(call, through)
                : through.go();
    return calls(Map.of("DevicePort.copyEach", twist, "BatchCopyPort.copyBatch", twist));
  }

  /** Neighbours become one row, whatever cuts lie between them. */
  static List<Call.Row> merged(List<Call.Row> rows) {
    List<Call.Row> merged = new ArrayList<>();
    for (Call.Row row : rows) {
      Call.Row last = merged.isEmpty() ? null : merged.getLast();
      if (last != null
          && last.source() + last.bytes() == row.source()
          && last.destination() + last.bytes() == row.destination()) {
        merged.set(
            merged.size() - 1,
            new Call.Row(last.destination(), last.source(), last.bytes() + row.bytes()));
      } else {
        merged.add(row);
      }
    }
    return merged;
  }

  /** A port of which one optional part is not there. */
  static Interposer hides(String part) {
    return ports((_, name, _, behind) -> name.equals(part) ? Optional.empty() : behind.go());
  }

  /** Device ports that answer otherwise. */
  static Interposer ports(AnswerOf<DevicePort> answer) {
    return new Interposer() {
      @Override
      public AcceleratorDriver driver(AcceleratorDriver driver) {
        return making(AcceleratorDriver.class, DevicePort.class, answer).apply(driver);
      }
    };
  }

  /** What becomes of a call of any interface. */
  interface Answer {
    Object of(String method, Object[] arguments, Behind behind) throws Throwable;
  }

  /** The thing behind. */
  interface Behind {
    Object go() throws Throwable;
  }

  @SuppressWarnings("ReferenceEquality") // a proxy is equal to itself only
  private static boolean isSame(Object self, Object other) {
    return self == other;
  }

  /** The same for one who asks the thing itself, too. */
  interface AnswerOf<T> {
    Object of(T thing, String method, Object[] arguments, Behind behind) throws Throwable;
  }

  /** A thing that answers otherwise. */
  static <T> T object(Class<T> type, T thing, AnswerOf<T> answer) {
    return object(
        type, thing, (name, arguments, behind) -> answer.of(thing, name, arguments, behind));
  }

  /** A thing that makes what answers otherwise: all of one type that its calls give. */
  static <T, M> UnaryOperator<T> making(Class<T> type, Class<M> of, AnswerOf<M> answer) {
    return standard -> object(type, standard, (_, _, behind) -> otherwise(of, behind.go(), answer));
  }

  /** The same thing where it is of another type. */
  static <M> Object otherwise(Class<M> of, Object thing, AnswerOf<M> answer) {
    return of.isInstance(thing) ? object(of, of.cast(thing), answer) : thing;
  }

  /** A thing that can be closed and nothing else. */
  static <T extends AutoCloseable> T hollow(Class<T> type) {
    return type.cast(
        Proxy.newProxyInstance(
            type.getClassLoader(),
            new Class<?>[] {type},
            (_, method, _) -> {
              if (method.getName().equals("close")) {
                return null;
              }
              throw new AssertionError("a mutant that has no " + method);
            }));
  }

  /** A thing that answers otherwise. */
  static <T> T object(Class<T> type, T behind, Answer answer) {
    return type.cast(
        Proxy.newProxyInstance(
            type.getClassLoader(),
            new Class<?>[] {type},
            (self, method, arguments) -> {
              if (method.getDeclaringClass() == Object.class) {
                return switch (method.getName()) {
                  case "equals" -> isSame(self, arguments[0]);
                  case "hashCode" -> System.identityHashCode(self);
                  default -> "mutant of " + behind;
                };
              }
              Object[] given = arguments == null ? new Object[0] : arguments;
              return answer.of(
                  method.getName(),
                  given,
                  () -> {
                    try {
                      return method.invoke(behind, arguments);
                    } catch (InvocationTargetException wrapped) {
                      throw wrapped.getCause();
                    }
                  });
            }));
  }
}
