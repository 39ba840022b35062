package io.holdfast.bench.experiment;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.holdfast.bench.tool.RefusedException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;

/**
 * The library of what else goes on in an engine's process, each on a native thread of its own. One
 * of each kind at a time; not for several threads at once.
 */
final class Neighbour {
  private static final int MOST_SAMPLES = 1 << 20;

  private final MethodHandle problem;
  private final MethodHandle probeStart;
  private final MethodHandle probeStop;
  private final MethodHandle captureStart;
  private final MethodHandle captureStop;
  private final MethodHandle plainRegister;
  private final MethodHandle busyStart;
  private final MethodHandle busyStop;
  private final MethodHandle forksStart;
  private final MethodHandle forksDone;
  private final MethodHandle forksStop;
  private final MethodHandle sleepersStart;
  private MemorySegment ptxText = MemorySegment.NULL;

  private Neighbour(SymbolLookup library) {
    problem = downcall(library, "neighbour_problem", ADDRESS);
    probeStart = downcall(library, "probe_start", JAVA_INT, JAVA_LONG, JAVA_LONG);
    probeStop = downcall(library, "probe_stop", JAVA_LONG, ADDRESS, JAVA_LONG);
    captureStart = downcall(library, "capture_start", JAVA_INT);
    captureStop = downcall(library, "capture_stop", JAVA_INT, ADDRESS);
    plainRegister = downcall(library, "plain_register", JAVA_LONG, ADDRESS, JAVA_LONG);
    busyStart = downcall(library, "busy_start", JAVA_INT, ADDRESS, JAVA_INT, JAVA_LONG);
    busyStop = downcall(library, "busy_stop", JAVA_LONG, ADDRESS);
    forksStart = downcall(library, "forks_start", JAVA_INT, JAVA_LONG);
    forksDone = downcall(library, "forks_done", JAVA_LONG);
    forksStop = downcall(library, "forks_stop", JAVA_LONG, JAVA_INT);
    sleepersStart = downcall(library, "sleepers_start", JAVA_INT, JAVA_INT, JAVA_INT);
  }

  /** Loads it for good; an ordinal below 0 opens no device, which forking needs none of. */
  @SuppressWarnings("restricted") // a library compiled from the sources in the jar
  static Neighbour open(Path library, int ordinal) {
    SymbolLookup lookup = SymbolLookup.libraryLookup(library, Arena.global());
    Neighbour neighbour = new Neighbour(lookup);
    if (ordinal >= 0) {
      MethodHandle open = downcall(lookup, "neighbour_open", JAVA_INT, JAVA_INT);
      try {
        neighbour.check((int) open.invokeExact(ordinal));
      } catch (Throwable failure) {
        throw rethrown(failure);
      }
    }
    return neighbour;
  }

  @SuppressWarnings("restricted") // the signatures are those of neighbour.h
  private static MethodHandle downcall(
      SymbolLookup library, String name, MemoryLayout result, MemoryLayout... arguments) {
    return Linker.nativeLinker()
        .downcallHandle(library.findOrThrow(name), FunctionDescriptor.of(result, arguments));
  }

  private static RuntimeException rethrown(Throwable failure) {
    return switch (failure) {
      case RuntimeException known -> known;
      case Error error -> throw error;
      default -> throw new AssertionError("native calls throw nothing checked", failure);
    };
  }

  private void check(long code) {
    if (code != 0) {
      throw new RefusedException("the neighbour: " + problem());
    }
  }

  @SuppressWarnings("restricted") // a C string of the library's own
  private String problem() {
    try {
      MemorySegment text = (MemorySegment) problem.invokeExact();
      return text.reinterpret(256).getString(0);
    } catch (Throwable failure) {
      throw rethrown(failure);
    }
  }

  /** Begins an open-loop probe: every period a small copy and a wait. */
  void startProbe(long periodNanos) {
    try {
      check((int) probeStart.invokeExact(periodNanos, (long) MOST_SAMPLES));
    } catch (Throwable failure) {
      throw rethrown(failure);
    }
  }

  /** Ends it: latencies in nanoseconds, counted from when each was due. */
  long[] stopProbe() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment latencies = arena.allocate(JAVA_LONG, MOST_SAMPLES);
      long count = (long) probeStop.invokeExact(latencies, (long) MOST_SAMPLES);
      if (count < 0) {
        throw new RefusedException("the neighbour: " + problem());
      }
      return latencies.asSlice(0, count * Long.BYTES).toArray(JAVA_LONG);
    } catch (Throwable failure) {
      throw rethrown(failure);
    }
  }

  /** Begins a graph capture in global mode on the library's own thread. */
  void startCapture() {
    try {
      check((int) captureStart.invokeExact());
    } catch (Throwable failure) {
      throw rethrown(failure);
    }
  }

  /**
   * What became of a capture.
   *
   * @param firstCode that a captured call answered, or 0
   * @param nodes captured
   * @param endCode of the end of capture
   * @param instantiateCode or -1 when it did not come to that
   * @param replayCode or -1
   * @param wrongBytes after the replay, or -1
   */
  record Captured(
      long firstCode,
      long nodes,
      long endCode,
      long instantiateCode,
      long replayCode,
      long wrongBytes) {
    boolean replayed() {
      return firstCode == 0
          && nodes > 0
          && endCode == 0
          && instantiateCode == 0
          && replayCode == 0
          && wrongBytes == 0;
    }
  }

  /** Ends the capture and replays it where it is sound. */
  Captured stopCapture() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment answers = arena.allocate(JAVA_LONG, 6);
      check((int) captureStop.invokeExact(answers));
      long[] all = answers.toArray(JAVA_LONG);
      return new Captured(all[0], all[1], all[2], all[3], all[4], all[5]);
    } catch (Throwable failure) {
      throw rethrown(failure);
    }
  }

  /** Registers and unregisters memory without stepping out of captures: the driver's code. */
  long plainRegister(MemorySegment memory) {
    try {
      return (long) plainRegister.invokeExact(memory, memory.byteSize());
    } catch (Throwable failure) {
      throw rethrown(failure);
    }
  }

  /** Begins a stream of kernels on that many thread blocks. */
  void startBusy(String ptx, int blocks, long cycles) {
    ptxText = Arena.ofAuto().allocateFrom(ptx); // kept by the field while the library reads it
    try {
      check((int) busyStart.invokeExact(ptxText, blocks, cycles));
    } catch (Throwable failure) {
      throw rethrown(failure);
    }
  }

  /** Ends it: the median nanoseconds of one kernel and how many there were. */
  long[] stopBusy() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment kernels = arena.allocate(JAVA_LONG);
      long median = (long) busyStop.invokeExact(kernels);
      if (median < 0) {
        throw new RefusedException("the neighbour: " + problem());
      }
      return new long[] {median, kernels.get(JAVA_LONG, 0)};
    } catch (Throwable failure) {
      throw rethrown(failure);
    }
  }

  /** Begins to fork children that end at once. */
  void startForks(long children) {
    try {
      check((int) forksStart.invokeExact(children));
    } catch (Throwable failure) {
      throw rethrown(failure);
    }
  }

  /** How many children forked and ended well so far. */
  long forksDone() {
    try {
      return (long) forksDone.invokeExact();
    } catch (Throwable failure) {
      throw rethrown(failure);
    }
  }

  /** Ends the forking, where asked to only after the last child. */
  long stopForks(boolean waitForRest) {
    try {
      return (long) forksStop.invokeExact(waitForRest ? 1 : 0);
    } catch (Throwable failure) {
      throw rethrown(failure);
    }
  }

  /** Forks children that sleep with everything a fork hands down; how many there are. */
  int startSleepers(int children, int seconds) {
    try {
      return (int) sleepersStart.invokeExact(children, seconds);
    } catch (Throwable failure) {
      throw rethrown(failure);
    }
  }
}
