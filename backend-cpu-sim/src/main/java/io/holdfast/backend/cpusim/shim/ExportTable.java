package io.holdfast.backend.cpusim.shim;

import io.holdfast.backend.cpusim.driver.SimulatedCrash;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;

/**
 * What a library's exports do, by their names. Filled by one thread, then called by any.
 *
 * <p>The same table answers a compiled library, through {@link NativeShim}, and calls from Java,
 * through {@link #call}: so one suite of answers runs on the simulator with and without C between.
 */
public final class ExportTable {
  /** What one export does. */
  @FunctionalInterface
  public interface Export {
    /**
     * Answers a call.
     *
     * @param arguments as C passed them
     * @return the code, or what else the function returns, an address as such
     */
    long answer(Words arguments);
  }

  private final Map<String, Export> exports = new HashMap<>();
  private final List<String> problems = new CopyOnWriteArrayList<>();
  private final int brokenCode;

  /**
   * A table without exports.
   *
   * @param brokenCode what a call answers whose export throws; {@link #problems} tells of it
   */
  public ExportTable(int brokenCode) {
    this.brokenCode = brokenCode;
  }

  /**
   * Adds an export.
   *
   * @param name exactly as it is exported
   * @param export what it does
   * @return this
   * @throws IllegalArgumentException where the name is taken
   */
  public ExportTable put(String name, Export export) {
    if (exports.putIfAbsent(name, export) != null) {
      throw new IllegalArgumentException(name + " is there already");
    }
    return this;
  }

  /**
   * Whether a name is exported.
   *
   * @param name exactly
   * @return true where it is
   */
  public boolean has(String name) {
    return exports.containsKey(name);
  }

  /**
   * All names.
   *
   * @return in the order of the alphabet
   */
  public Set<String> names() {
    return new TreeSet<>(exports.keySet());
  }

  /**
   * What exports have thrown, which is a fault of a table and never a driver's answer.
   *
   * @return one sentence each
   */
  public List<String> problems() {
    return List.copyOf(problems);
  }

  /**
   * Calls an export from Java.
   *
   * @param name which
   * @param arguments numbers and segments, as the C function takes them
   * @return what it returns
   * @throws IllegalArgumentException where there is no such export
   * @throws SimulatedCrash where a real driver would end the process
   */
  public long call(String name, Object... arguments) {
    Export export = exports.get(name);
    if (export == null) {
      throw new IllegalArgumentException(name + " is not exported");
    }
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment words = arena.allocate(ValueLayout.JAVA_LONG, arguments.length + 1L);
      for (int i = 0; i < arguments.length; i++) {
        words.setAtIndex(ValueLayout.JAVA_LONG, i, word(arguments[i]));
      }
      return answer(name, export, new Words(words));
    }
  }

  private static long word(Object argument) {
    return switch (argument) {
      case MemorySegment segment -> segment.address();
      case Byte small -> Byte.toUnsignedLong(small); // as C's unsigned char
      case Number number -> number.longValue();
      default -> throw new IllegalArgumentException("no argument of C: " + argument);
    };
  }

  /** Answers; what an export throws becomes a problem and a code, but for a crash. */
  long answer(String name, @Nullable Export export, Words arguments) {
    if (export == null) {
      problems.add(name + " is exported by the library and not answered");
      return brokenCode;
    }
    try {
      return export.answer(arguments);
    } catch (SimulatedCrash crash) {
      throw crash;
    } catch (RuntimeException | Error broken) {
      problems.add(name + ": " + broken);
      return brokenCode;
    }
  }

  /** The exports of a library's slots, null where it has one that is not answered. */
  List<@Nullable Export> inOrder(List<String> names) {
    List<@Nullable Export> ordered = new ArrayList<>();
    names.forEach(name -> ordered.add(exports.get(name)));
    return ordered;
  }
}
