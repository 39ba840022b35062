package io.holdfast.backend.hip;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.holdfast.spi.LibraryFile;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Compiles the copy kernels for the device that is current, once for each open device. */
final class HipCompiler {
  private static final String RESOURCE = "copy_rows.cu";

  private final HiprtcBindings hiprtc;

  private HipCompiler(HiprtcBindings hiprtc) {
    this.hiprtc = hiprtc;
  }

  /** What came of looking for the compiler. */
  sealed interface Search {
    /**
     * It is here.
     *
     * @param compiler ready
     */
    record Found(HipCompiler compiler) implements Search {}

    /**
     * It is not.
     *
     * @param why in words
     */
    record Absent(String why) implements Search {}
  }

  /** What came of compiling. */
  sealed interface Outcome {
    /**
     * A code object.
     *
     * @param image as the runtime loads it
     */
    record Compiled(MemorySegment image) implements Outcome {}

    /**
     * It did not compile.
     *
     * @param why the compiler's words
     */
    record Refused(String why) implements Outcome {}
  }

  /**
   * Looks in the runtime's own library first, which is of the same build for sure, and then for the
   * compiler's of the same major version, beside the runtime's where that was named by a path.
   */
  static Search find(String library, SymbolLookup symbols, HipVersion version) {
    HiprtcBindings own = new HiprtcBindings(symbols);
    if (own.isComplete()) {
      return new Search.Found(new HipCompiler(own));
    }
    String name = "libhiprtc.so." + version.major();
    List<String> names = new ArrayList<>();
    if (library.startsWith("/")) {
      names.add(library.substring(0, library.lastIndexOf('/') + 1) + name);
    }
    names.add(name);
    List<String> tried = new ArrayList<>();
    for (String one : names) {
      Optional<LibraryFile.Distrust> distrust =
          one.startsWith("/") ? LibraryFile.distrust(one) : Optional.empty();
      if (distrust.isPresent()) {
        tried.add(one + ": " + distrust.get().reason());
        continue;
      }
      switch (DynamicLibrary.open(one)) {
        case DynamicLibrary.Opened opened -> {
          HiprtcBindings bindings = new HiprtcBindings(opened.symbols());
          if (bindings.isComplete()) {
            return new Search.Found(new HipCompiler(bindings));
          }
          tried.add(one + ": not a compiler that can be used");
        }
        case DynamicLibrary.Refused no -> tried.add(one + ": " + no.words());
      }
    }
    return new Search.Absent(
        "HIP's run-time compiler is not here (" + String.join("; ", tried) + ")");
  }

  /**
   * Compiles for the current device's architecture. Takes up to some seconds.
   *
   * @param lanes of a wavefront
   * @param arena where the code object goes
   * @param more options, for example another architecture
   */
  Outcome compile(int lanes, Arena arena, String... more) {
    MemorySegment program = arena.allocate(JAVA_LONG);
    MemorySegment size = arena.allocate(JAVA_LONG);
    int code = hiprtc.hiprtcCreateProgram(program, text(arena), arena.allocateFrom(RESOURCE));
    if (code != 0) {
      return refused("hiprtcCreateProgram", code, "");
    }
    long handle = program.get(JAVA_LONG, 0);
    try {
      List<String> options = new ArrayList<>(List.of("-O3", "-DLANES=" + lanes + "u"));
      options.addAll(List.of(more));
      MemorySegment pointers = arena.allocate(ADDRESS, options.size());
      for (int i = 0; i < options.size(); i++) {
        pointers.setAtIndex(ADDRESS, i, arena.allocateFrom(options.get(i)));
      }
      code = hiprtc.hiprtcCompileProgram(handle, options.size(), pointers);
      if (code != 0) {
        return refused("hiprtcCompileProgram", code, log(handle, size, arena));
      }
      code = hiprtc.hiprtcGetCodeSize(handle, size);
      if (code != 0) {
        return refused("hiprtcGetCodeSize", code, "");
      }
      MemorySegment image = arena.allocate(size.get(JAVA_LONG, 0));
      code = hiprtc.hiprtcGetCode(handle, image);
      return code == 0 ? new Outcome.Compiled(image) : refused("hiprtcGetCode", code, "");
    } finally {
      int _ = hiprtc.hiprtcDestroyProgram(program); // the code object is ours already
    }
  }

  private Outcome refused(String call, int code, String log) {
    return new Outcome.Refused(
        call
            + " answered "
            + code
            + " ("
            + hiprtc.hiprtcGetErrorString(code)
            + ")"
            + (log.isEmpty() ? "" : ": " + log));
  }

  /** The first of the compiler's lines; the others seldom say more. */
  private String log(long program, MemorySegment size, Arena arena) {
    if (hiprtc.hiprtcGetProgramLogSize(program, size) != 0 || size.get(JAVA_LONG, 0) <= 1) {
      return "";
    }
    MemorySegment log = arena.allocate(size.get(JAVA_LONG, 0) + 1); // ends with a zero byte
    return hiprtc.hiprtcGetProgramLog(program, log) == 0
        ? log.getString(0).lines().findFirst().orElse("")
        : "";
  }

  private static MemorySegment text(Arena arena) {
    try (InputStream resource = HipCompiler.class.getResourceAsStream(RESOURCE)) {
      if (resource == null) {
        throw new IllegalStateException(RESOURCE + " is missing from the jar of the HIP backend");
      }
      byte[] bytes = resource.readAllBytes();
      MemorySegment text = arena.allocate(bytes.length + 1L); // ends with a zero byte
      MemorySegment.copy(bytes, 0, text, JAVA_BYTE, 0, bytes.length);
      return text;
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    }
  }
}
