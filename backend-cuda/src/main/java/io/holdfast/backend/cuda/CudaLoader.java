package io.holdfast.backend.cuda;

import static io.holdfast.backend.cuda.CudaConstants.CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE;
import static io.holdfast.backend.cuda.CudaConstants.CUDA_ERROR_DEVICE_UNAVAILABLE;
import static io.holdfast.backend.cuda.CudaConstants.CUDA_ERROR_MPS_CONNECTION_FAILED;
import static io.holdfast.backend.cuda.CudaConstants.CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED;
import static io.holdfast.backend.cuda.CudaConstants.CUDA_ERROR_NOT_INITIALIZED;
import static io.holdfast.backend.cuda.CudaConstants.CUDA_ERROR_NO_DEVICE;
import static io.holdfast.backend.cuda.CudaConstants.CUDA_ERROR_OPERATING_SYSTEM;
import static io.holdfast.backend.cuda.CudaConstants.CUDA_ERROR_STUB_LIBRARY;
import static io.holdfast.backend.cuda.CudaConstants.CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
import static io.holdfast.backend.cuda.CudaConstants.CUDA_ERROR_SYSTEM_NOT_READY;
import static io.holdfast.backend.cuda.CudaConstants.CUDA_ERROR_UNKNOWN;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import io.holdfast.Availability.Unavailable;
import io.holdfast.backend.cuda.Surroundings.Access;
import io.holdfast.spi.LibraryFile;
import io.holdfast.spi.ProbeLog;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * Finds the driver library, starts it, and otherwise tells apart why it cannot be used.
 *
 * <p>Every step is written down. Without the library nothing is loaded; with it, {@code cuInit} is
 * the only call that changes anything, and it makes no context.
 */
final class CudaLoader {
  /** System property: the absolute path of the library, instead of the system loader's choice. */
  static final String LIBRARY_PROPERTY = "holdfast.cuda.library";

  /** System property: {@code ffm}, {@code jcuda}, or {@code auto}, which is the first. */
  static final String BINDING_PROPERTY = "holdfast.cuda.binding";

  /** The library's name; the one without a number exists only with developers' packages. */
  static final String LIBRARY = "libcuda.so.1";

  /** CUDA 12.0, as cuDriverGetVersion counts; the driver 525 is the first that has it. */
  static final int OLDEST_VERSION = 12_000;

  private static final String INSTALL = "Install the NVIDIA driver, version 525 or later";

  private final Surroundings around;
  private final ProbeLog log;

  private CudaLoader(Surroundings around, ProbeLog log) {
    this.around = around;
    this.log = log;
  }

  /** What came of loading. */
  sealed interface Outcome {
    /**
     * The driver is started.
     *
     * @param calls its functions
     * @param version as cuDriverGetVersion counts, for example 13000
     * @param module the kernel module under it, where it can be read
     */
    record Started(CudaCalls calls, int version, Optional<KernelModule> module)
        implements Outcome {}

    /**
     * It cannot be used.
     *
     * @param why with the remedy
     */
    record Refused(Unavailable why) implements Outcome {}
  }

  /** Loads and starts the driver. Never throws. */
  static Outcome load(Surroundings around, ProbeLog log) {
    CudaLoader loader = new CudaLoader(around, log);
    try {
      return loader.load();
    } catch (IllegalCallerException denied) {
      return new Outcome.Refused(nativeAccessDenied(denied));
    } catch (LinkageError | AssertionError broken) {
      return new Outcome.Refused(
          broken.getCause() instanceof IllegalCallerException || !mayCallNativeCode()
              ? nativeAccessDenied(broken)
              : new Unavailable(
                  "the binding to the CUDA driver is broken: " + broken,
                  "Report it with the transcript",
                  Optional.of(broken)));
    }
  }

  private Outcome load() {
    String system = System.getProperty("os.name", "");
    if (!system.toLowerCase(Locale.ROOT).startsWith("linux")) {
      log.tried("operating system", system);
      return refused("this is " + system + ", and the CUDA backend knows Linux only", "");
    }
    noteEnvironment();
    noteDeviceNodes();
    Optional<KernelModule> module = KernelModule.read(around);
    log.tried("/" + KernelModule.FILE, module.map(KernelModule::version).orElse("not there"));
    log.tried(
        "native access",
        mayCallNativeCode()
            ? "enabled"
            : "not enabled for " + callerName() + "; the Java runtime warns, or refuses");

    String binding = around.property(BINDING_PROPERTY).orElse("auto");
    if (!List.of("auto", "ffm", "jcuda").contains(binding)) {
      log.tried("system property " + BINDING_PROPERTY, binding);
      return refused(
          BINDING_PROPERTY + " is '" + binding + "', which is no binding",
          "Set it to ffm, jcuda or auto, or remove it");
    }
    String name = LIBRARY;
    Optional<String> path = around.property(LIBRARY_PROPERTY);
    if (path.isPresent()) {
      name = path.get();
      log.tried("system property " + LIBRARY_PROPERTY, name);
      Optional<LibraryFile.Distrust> distrust = LibraryFile.distrust(name);
      if (distrust.isPresent()) {
        log.tried(name, "not loaded: " + distrust.get().reason());
        return refused(
            LIBRARY_PROPERTY + " is not followed: " + distrust.get().reason(),
            distrust.get().remedy() + ", or remove the property");
      }
    }
    return switch (DynamicLibrary.open(name)) {
      case DynamicLibrary.Refused no -> {
        log.tried(name, no.words());
        yield no.notFound() ? libraryMissing(name) : libraryUnusable(name, no.words());
      }
      case DynamicLibrary.Opened opened -> {
        log.tried(name, loadedFrom().map(file -> "loaded from " + file).orElse("loaded"));
        CudaBindings bindings = new CudaBindings(name, opened.symbols());
        Outcome outcome = start(name, bindings, module);
        yield binding.equals("jcuda") && outcome instanceof Outcome.Started started
            ? throughJCuda(started)
            : outcome;
      }
    };
  }

  private Outcome start(String name, CudaBindings bindings, Optional<KernelModule> module) {
    List<String> missing = bindings.missing();
    if (!missing.isEmpty()) {
      log.tried("exports of " + name, "without " + String.join(", ", missing));
      return refused(
          name + " is not a CUDA driver that can be used: it lacks " + String.join(", ", missing),
          INSTALL + ", and let " + LIBRARY_PROPERTY + " name no other library");
    }
    log.tried("exports of " + name, "all that are needed");
    for (CudaFeature feature : CudaFeature.values()) {
      log.tried(
          feature.words(),
          feature == CudaFeature.BATCH_COPY
              ? bindings.batchForm()
              : bindings.offers(feature) ? "exported" : "absent");
    }
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment number = arena.allocate(JAVA_INT);
      // A stub answers 34 here already; a driver answers before cuInit and without a device.
      int code = bindings.cuDriverGetVersion(number);
      int version = number.get(JAVA_INT, 0);
      if (code != 0) {
        log.tried("cuDriverGetVersion", answer(bindings, code));
        return new Outcome.Refused(initRefused(bindings, code, 0, module));
      }
      log.tried("cuDriverGetVersion", version + ", CUDA " + versionWords(version));
      if (version < OLDEST_VERSION) {
        return refused(
            "the driver speaks CUDA "
                + versionWords(version)
                + ", and "
                + versionWords(OLDEST_VERSION)
                + " is the oldest that can be used",
            INSTALL);
      }
      code = bindings.cuInit(0);
      log.tried("cuInit", answer(bindings, code));
      if (code != 0) {
        return new Outcome.Refused(initRefused(bindings, code, version, module));
      }
      return new Outcome.Started(bindings, version, module);
    }
  }

  /** The same driver, started and found usable, through the other binding. */
  private Outcome throughJCuda(Outcome.Started started) {
    log.tried("system property " + BINDING_PROPERTY, "jcuda");
    return switch (JCudaSupport.open(around, log)) {
      case JCudaSupport.Outcome.Refused no -> new Outcome.Refused(no.why());
      case JCudaSupport.Outcome.Found found -> {
        for (CudaFeature feature : CudaFeature.values()) {
          if (!found.calls().offers(feature)) {
            log.tried(feature.words(), "not through JCuda");
          }
        }
        yield new Outcome.Started(found.calls(), started.version(), started.module());
      }
    };
  }

  // ---- what is around

  private void noteEnvironment() {
    for (String name : List.of("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER")) {
      around.variable(name).ifPresent(value -> log.tried(name, "'" + value + "'"));
    }
  }

  private void noteDeviceNodes() {
    List<String> nodes = deviceNodes();
    if (nodes.isEmpty()) {
      log.tried("/dev/nvidia*", "none");
    }
    for (String node : nodes) {
      log.tried(
          "/" + node,
          around.access(node) == Access.USABLE ? "readable and writable" : "no permission");
    }
  }

  /**
   * Files under dev that a CUDA process opens: control, managed memory, and one for each device.
   */
  private List<String> deviceNodes() {
    List<String> nodes = new ArrayList<>();
    for (String name : around.names("dev", "nvidia")) {
      boolean device = name.matches("nvidia\\d+");
      if (device || name.equals("nvidiactl") || name.equals("nvidia-uvm")) {
        nodes.add("dev/" + name);
      }
    }
    if (around.access("dev/dxg") != Access.ABSENT) {
      nodes.add("dev/dxg");
    }
    return nodes;
  }

  private List<String> forbiddenNodes() {
    return deviceNodes().stream()
        .filter(node -> around.access(node) == Access.FORBIDDEN)
        .map(node -> "/" + node)
        .toList();
  }

  /** Which file the loader took, from the process's own map. */
  private Optional<String> loadedFrom() {
    return around
        .text("proc/self/maps")
        .flatMap(
            maps ->
                maps.lines()
                    .filter(line -> line.contains("/libcuda.so"))
                    .map(line -> line.substring(line.indexOf('/')))
                    .findFirst());
  }

  // ---- reasons

  private static Outcome refused(String reason, String remedy) {
    return new Outcome.Refused(Unavailable.because(reason, remedy));
  }

  private Outcome libraryMissing(String name) {
    if (deviceNodes().isEmpty()) {
      return refused(name + " was not found, and there is no NVIDIA device node in /dev", INSTALL);
    }
    return refused(
        name + " was not found although there are NVIDIA device nodes in /dev",
        "Install the driver's library for programs; in a container, start it with NVIDIA's runtime"
            + " and NVIDIA_DRIVER_CAPABILITIES=compute,utility");
  }

  private static Outcome libraryUnusable(String name, String words) {
    return refused(
        name + " is there but cannot be opened: " + words,
        "Check that it may be read and is built for "
            + System.getProperty("os.arch", "this processor"));
  }

  private static Unavailable nativeAccessDenied(Throwable denied) {
    return new Unavailable(
        "this Java runtime does not let " + callerName() + " call native code",
        "Start Java with --enable-native-access=" + callerFlag(),
        Optional.of(denied));
  }

  /** What a refusal to start means, told apart by the code and by what is around. */
  private Unavailable initRefused(
      CudaCalls calls, int code, int version, Optional<KernelModule> module) {
    List<String> forbidden = forbiddenNodes();
    return switch (code) {
      case CUDA_ERROR_STUB_LIBRARY ->
          Unavailable.because(
              LIBRARY + " is the toolkit's stub for linking, not a driver: it answered 34",
              "Take the folder named stubs out of LD_LIBRARY_PATH, and give the driver's own"
                  + " library to the container");
      case CUDA_ERROR_NO_DEVICE -> noDevice(forbidden);
      case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH ->
          Unavailable.because(
              "the driver library (CUDA "
                  + versionWords(version)
                  + ") and the kernel module ("
                  + module.map(KernelModule::version).orElse("version not readable")
                  + ") do not belong together: cuInit answered 803",
              "Reload the kernel module or reboot after a driver update; in a container, use the"
                  + " host's library");
      case CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE ->
          Unavailable.because(
              "a forward-compatibility library is loaded, and this device does not allow it:"
                  + " cuInit answered 804",
              "Take the compat folder out of LD_LIBRARY_PATH, or update the kernel driver");
      case CUDA_ERROR_SYSTEM_NOT_READY ->
          Unavailable.because(
              "the system is not ready: cuInit answered 802",
              "Start the fabric manager, which machines with NVSwitch need");
      case CUDA_ERROR_DEVICE_UNAVAILABLE ->
          Unavailable.because(
              "the device is taken by another process in exclusive mode: cuInit answered 46",
              "End that process, or set the compute mode back to default");
      case CUDA_ERROR_NOT_INITIALIZED ->
          Unavailable.because(
              "this process was forked from one that had started the driver: cuInit answered 3",
              "Start a new process instead of forking one");
      default -> {
        if (!forbidden.isEmpty()) {
          yield noPermission(forbidden, code);
        }
        if (code >= CUDA_ERROR_MPS_CONNECTION_FAILED
            && code <= CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED) {
          yield Unavailable.because(
              "the multi-process service refused: cuInit answered " + answer(calls, code),
              "Check the MPS daemon, or unset CUDA_MPS_PIPE_DIRECTORY");
        }
        if (code == CUDA_ERROR_UNKNOWN || code == CUDA_ERROR_OPERATING_SYSTEM) {
          yield Unavailable.because(
              "the driver could not reach its kernel module: cuInit answered "
                  + answer(calls, code),
              "Check that nvidia and nvidia_uvm are loaded and that their nodes in /dev are this"
                  + " machine's");
        }
        yield Unavailable.because(
            "the driver does not start: cuInit answered " + answer(calls, code),
            "Run nvidia-smi, and read the kernel's log");
      }
    };
  }

  private Unavailable noDevice(List<String> forbidden) {
    if (!forbidden.isEmpty()) {
      return noPermission(forbidden, CUDA_ERROR_NO_DEVICE);
    }
    if (deviceNodes().isEmpty()) {
      return Unavailable.because(
          "the driver library is there, but no NVIDIA device node in /dev: cuInit answered 100",
          "Load the kernel module (nvidia-smi tells); in a container, pass the devices in");
    }
    return around
        .variable("CUDA_VISIBLE_DEVICES")
        .map(
            visible ->
                Unavailable.because(
                    "no device is visible with CUDA_VISIBLE_DEVICES='"
                        + visible
                        + "': cuInit answered 100",
                    "Unset CUDA_VISIBLE_DEVICES, or name devices that exist"))
        .orElseGet(
            () ->
                Unavailable.because(
                    "the driver sees no device: cuInit answered 100",
                    "Run nvidia-smi, and read the kernel's log"));
  }

  private static Unavailable noPermission(List<String> forbidden, int code) {
    return Unavailable.because(
        "no permission to read and write "
            + String.join(", ", forbidden)
            + ": cuInit answered "
            + code,
        "Add the user to the group that owns them, or let the container's device rules allow them");
  }

  // ---- words

  /** 13000 is 13.0. */
  static String versionWords(int version) {
    return version / 1000 + "." + version % 1000 / 10;
  }

  private static String answer(CudaCalls calls, int code) {
    if (code == 0) {
      return "0";
    }
    String name = calls.cuGetErrorName(code);
    String text = calls.cuGetErrorString(code);
    return code + (name == null ? "" : " " + name) + (text == null ? "" : ", " + text);
  }

  private static boolean mayCallNativeCode() {
    return CudaLoader.class.getModule().isNativeAccessEnabled();
  }

  private static String callerName() {
    Module module = CudaLoader.class.getModule();
    return module.isNamed() ? "module " + module.getName() : "code on the class path";
  }

  private static String callerFlag() {
    Module module = CudaLoader.class.getModule();
    return module.isNamed() ? module.getName() : "ALL-UNNAMED";
  }
}
