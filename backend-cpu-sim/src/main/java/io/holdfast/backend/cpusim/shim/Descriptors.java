package io.holdfast.backend.cpusim.shim;

import io.holdfast.backend.cpusim.driver.SimDriver;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * True descriptors for those that the simulator hands out, so that a binding can close, duplicate
 * and pass them on. The simulator hears of a closed one when {@link #sweep} looks.
 *
 * <p>Linux only. Any thread.
 */
public final class Descriptors {
  private static final int CLOSE_ON_EXEC = 1; // MFD_CLOEXEC
  private static final Path OPEN_FILES = Path.of("/proc/self/fd");

  private final SimDriver driver;
  private final Map<String, Integer> simulated = new HashMap<>();

  /**
   * Nothing is handed out yet.
   *
   * @param driver whose descriptors
   */
  public Descriptors(SimDriver driver) {
    this.driver = driver;
  }

  /**
   * Hands a descriptor out.
   *
   * @param descriptor the simulator's
   * @param label shown by the system beside it
   * @return a true one, the caller's to close
   */
  public synchronized int handOut(int descriptor, String label) {
    sweep();
    int file = newFile(label);
    simulated.put(identity(OPEN_FILES.resolve(String.valueOf(file))), descriptor);
    return file;
  }

  /**
   * Which of the simulator's descriptors a true one stands for, or a duplicate of it.
   *
   * @param file any number
   * @return the simulator's, or -1 where it is none of them
   */
  public synchronized int behind(int file) {
    sweep();
    Path link = OPEN_FILES.resolve(String.valueOf(file));
    return Files.exists(link) ? simulated.getOrDefault(identity(link), -1) : -1;
  }

  /** Closes the simulator's descriptors whose true ones were all closed in this process. */
  public synchronized void sweep() {
    if (simulated.isEmpty()) {
      return;
    }
    Set<String> open = new HashSet<>();
    try (DirectoryStream<Path> links = Files.newDirectoryStream(OPEN_FILES)) {
      for (Path link : links) {
        if (Files.exists(link)) { // the one that lists them is gone by now
          open.add(identity(link));
        }
      }
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    }
    simulated
        .entrySet()
        .removeIf(one -> !open.contains(one.getKey()) && driver.closeDescriptor(one.getValue()));
  }

  private static String identity(Path link) {
    try {
      return Files.getAttribute(link, "unix:dev") + ":" + Files.getAttribute(link, "unix:ino");
    } catch (IOException gone) {
      return "";
    }
  }

  /** Of a file that has no name. */
  @SuppressWarnings("restricted")
  private static int newFile(String label) {
    Linker linker = Linker.nativeLinker();
    MethodHandle create =
        linker.downcallHandle(
            linker.defaultLookup().findOrThrow("memfd_create"),
            FunctionDescriptor.of(
                ValueLayout.JAVA_INT, ValueLayout.JAVA_LONG, ValueLayout.JAVA_INT));
    int file;
    try {
      file = (int) create.invokeExact(CMemory.text(label), CLOSE_ON_EXEC);
    } catch (Throwable bug) {
      throw new AssertionError(bug);
    }
    if (file < 0) {
      throw new IllegalStateException("the system has no descriptor left");
    }
    return file;
  }
}
