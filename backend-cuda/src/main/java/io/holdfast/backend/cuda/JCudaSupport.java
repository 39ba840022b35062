package io.holdfast.backend.cuda;

import io.holdfast.Availability.Unavailable;
import io.holdfast.spi.LibraryFile;
import io.holdfast.spi.ProbeLog;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Finds JCuda, which this module does without unless it is asked for.
 *
 * <p>JCuda has no module descriptor and can be on the class path or on the module path. Its natives
 * are taken from {@code java.library.path} only: JCuda's own way is to unpack them into the
 * temporary folder under fixed names, where somebody else's file may wait. The folder must be an
 * absolute path that other users cannot change.
 */
public final class JCudaSupport {
  private static final String ANY_CLASS = "jcuda.Pointer";

  private JCudaSupport() {}

  /** What came of looking. */
  sealed interface Outcome {
    /**
     * It can be called.
     *
     * @param calls the driver through it
     */
    record Found(CudaCalls calls) implements Outcome {}

    /**
     * It cannot.
     *
     * @param why with the remedy
     */
    record Refused(Unavailable why) implements Outcome {}
  }

  /**
   * Lets this module read JCuda's classes, wherever they are. Cheap when done before.
   *
   * @throws ClassNotFoundException where there is no JCuda that this module's class loader can see
   */
  public static void readClasses() throws ClassNotFoundException {
    Class<?> any = Class.forName(ANY_CLASS, false, JCudaSupport.class.getClassLoader());
    JCudaSupport.class.getModule().addReads(any.getModule());
  }

  /** Looks for classes and natives, and loads both. Never throws. */
  static Outcome open(Surroundings around, ProbeLog log) {
    try {
      readClasses();
    } catch (ClassNotFoundException | LinkageError missing) {
      log.tried("JCuda", "its classes are not there");
      return refused(
          "JCuda was asked for by " + CudaLoader.BINDING_PROPERTY + ", and is not there",
          "Put jcuda 12.6 on the class path, or on the module path with --add-modules jcuda",
          missing);
    }
    try {
      String file = JCudaBindings.nativeLibrary(arch(around));
      // The Java runtime takes an empty folder in the list for the working directory.
      List<String> folders =
          around
              .property("java.library.path")
              .filter(list -> !list.isEmpty())
              .map(list -> List.of(list.split(":", -1)))
              .orElse(List.of());
      Optional<Path> found =
          folders.stream()
              .map(folder -> Path.of(folder, file))
              .filter(Files::isRegularFile)
              .findFirst();
      if (found.isEmpty()) {
        log.tried(file, "in none of " + folders);
        return new Outcome.Refused(
            Unavailable.because(
                "JCuda's " + file + " is in no folder of java.library.path",
                "Unpack it from jcuda-natives and start Java with -Djava.library.path=FOLDER; it is"
                    + " not unpacked into the temporary folder"));
      }
      log.tried(file, "found at " + found.get());
      Optional<LibraryFile.Distrust> distrust = LibraryFile.distrust(found.get().toString());
      if (distrust.isPresent()) {
        log.tried(file, "not loaded: " + distrust.get().reason());
        return new Outcome.Refused(
            Unavailable.because(
                "JCuda's natives are not loaded: " + distrust.get().reason(),
                distrust.get().remedy() + ", by -Djava.library.path=FOLDER"));
      }
      JCudaBindings calls = new JCudaBindings();
      int code = calls.cuInit(0); // loads the natives
      log.tried("cuInit through JCuda", String.valueOf(code));
      if (code != 0) {
        return new Outcome.Refused(
            Unavailable.because(
                "the driver that JCuda's natives load does not start: cuInit answered " + code,
                "JCuda takes the system loader's libcuda.so.1; let it be the one of "
                    + CudaLoader.LIBRARY_PROPERTY));
      }
      return new Outcome.Found(calls);
    } catch (LinkageError | IllegalCallerException broken) {
      List<String> words = new ArrayList<>();
      for (Throwable cause = broken; cause != null; cause = cause.getCause()) {
        words.add(String.valueOf(cause.getMessage()).lines().findFirst().orElse(""));
      }
      log.tried("JCuda", String.join("; ", words));
      return refused(
          "JCuda is there and cannot be used: " + words.getFirst(),
          "Use jcuda and jcuda-natives 12.6 of one version, with --enable-native-access=jcuda or"
              + " ALL-UNNAMED",
          broken);
    }
  }

  private static Outcome refused(String reason, String remedy, Throwable cause) {
    return new Outcome.Refused(new Unavailable(reason, remedy, Optional.of(cause)));
  }

  /** The processor as JCuda spells it in file names. */
  private static String arch(Surroundings around) {
    String arch = around.property("os.arch").orElse("");
    return arch.equals("amd64") ? "x86_64" : arch;
  }
}
