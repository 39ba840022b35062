package io.holdfast.backend.cpusim.shim;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.holdfast.backend.cpusim.driver.SimulatedCrash;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A loaded library that was compiled with {@code shim.h}, and the table that answers its exports.
 *
 * <p>An export that is called in a child of fork answers the front end's code for that without
 * Java. Where the simulator says that a driver would have crashed, the process aborts. Closing
 * makes the exports answer as an unbound library's; no call may be under way.
 */
public final class NativeShim implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(NativeShim.class.getName());
  private static final String HEADER = "shim.h";

  private final SymbolLookup library;
  private final ExportTable table;
  private final List<String> names;
  private final List<ExportTable.@Nullable Export> exports;
  private final MethodHandle abort;
  private final Arena arena = Arena.ofShared();

  private NativeShim(SymbolLookup library, ExportTable table) {
    this.library = library;
    this.table = table;
    this.names = exportedBy(library);
    this.exports = table.inOrder(names);
    this.abort = function(library, "shim_abort", FunctionDescriptor.ofVoid());
  }

  /**
   * Binds a library; from now on its exports are answered by the table.
   *
   * @param library the loaded library's symbols
   * @param table has what the library exports; more is harmless
   * @return the binding
   * @throws IllegalArgumentException where the library exports a name that the table lacks
   */
  @SuppressWarnings("restricted")
  public static NativeShim bind(SymbolLookup library, ExportTable table) {
    NativeShim shim = new NativeShim(library, table);
    List<String> unanswered = new ArrayList<>(shim.names);
    unanswered.removeAll(table.names());
    if (!unanswered.isEmpty()) {
      throw new IllegalArgumentException("the table does not answer " + unanswered);
    }
    MemorySegment stub;
    try {
      MethodHandle target =
          MethodHandles.lookup()
              .findVirtual(
                  FromC.class,
                  "answer",
                  MethodType.methodType(long.class, int.class, MemorySegment.class))
              .bindTo((FromC) shim::answer);
      stub =
          Linker.nativeLinker()
              .upcallStub(target, FunctionDescriptor.of(JAVA_LONG, JAVA_INT, ADDRESS), shim.arena);
    } catch (ReflectiveOperationException impossible) {
      throw new LinkageError("a method of this class", impossible);
    }
    shim.bindTo(stub);
    return shim;
  }

  /**
   * The names that a library exports through {@code shim.h}, hidden ones too.
   *
   * @param library the loaded library's symbols
   * @return the names
   */
  public static List<String> exportedBy(SymbolLookup library) {
    MethodHandle count = function(library, "shim_count", FunctionDescriptor.of(JAVA_INT));
    MethodHandle name = function(library, "shim_name", FunctionDescriptor.of(JAVA_LONG, JAVA_INT));
    List<String> names = new ArrayList<>();
    try {
      int slots = (int) count.invokeExact();
      for (int slot = 0; slot < slots; slot++) {
        names.add(CMemory.at((long) name.invokeExact(slot)).getString(0));
      }
    } catch (Throwable bug) {
      throw new AssertionError(bug);
    }
    return List.copyOf(names);
  }

  /** What C calls. */
  interface FromC {
    long answer(int slot, MemorySegment words);
  }

  private long answer(int slot, MemorySegment words) {
    try {
      return table.answer(
          names.get(slot), exports.get(slot), new Words(CMemory.at(words.address())));
    } catch (SimulatedCrash crash) {
      LOG.log(System.Logger.Level.ERROR, names.get(slot) + ": " + crash.getMessage());
      try {
        abort.invokeExact();
      } catch (Throwable bug) {
        throw new AssertionError(bug);
      }
      throw crash;
    }
  }

  @Override
  public void close() {
    if (arena.scope().isAlive()) {
      bindTo(MemorySegment.NULL);
      arena.close();
    }
  }

  private void bindTo(MemorySegment stub) {
    try {
      function(library, "shim_bind", FunctionDescriptor.ofVoid(ADDRESS)).invokeExact(stub);
    } catch (Throwable bug) {
      throw new AssertionError(bug);
    }
  }

  @SuppressWarnings("restricted")
  private static MethodHandle function(
      SymbolLookup library, String name, FunctionDescriptor shape) {
    return Linker.nativeLinker()
        .downcallHandle(
            library
                .find(name)
                .orElseThrow(
                    () -> new IllegalArgumentException("not compiled with shim.h: no " + name)),
            shape);
  }

  /**
   * Puts {@code shim.h} where a C compiler finds it.
   *
   * @param folder an existing folder
   * @return the folder, for {@code -I}
   */
  public static Path headerInto(Path folder) {
    try (InputStream header = NativeShim.class.getResourceAsStream(HEADER)) {
      if (header == null) {
        throw new IllegalStateException(HEADER + " is missing from the simulator's jar");
      }
      Files.copy(header, folder.resolve(HEADER), StandardCopyOption.REPLACE_EXISTING);
      return folder;
    } catch (IOException unwritable) {
      throw new UncheckedIOException(unwritable);
    }
  }

  /**
   * A linker's version script that hides exports, as an older library lacks them.
   *
   * @param folder an existing folder
   * @param hidden the names
   * @return the file, for {@code -Wl,--version-script=}
   */
  public static Path hiding(Path folder, Collection<String> hidden) {
    StringBuilder script = new StringBuilder("{\n  global: *;\n");
    script.append(hidden.isEmpty() ? "" : "  local: " + String.join("; ", hidden) + ";\n");
    try {
      return Files.writeString(folder.resolve("hidden.map"), script.append("};\n"));
    } catch (IOException unwritable) {
      throw new UncheckedIOException(unwritable);
    }
  }
}
