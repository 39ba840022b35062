package io.holdfast.backend.hip;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import io.holdfast.Availability.Unavailable;
import io.holdfast.backend.hip.Surroundings.Access;
import io.holdfast.spi.ProbeLog;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * Finds the HIP runtime, asks it for devices, and otherwise tells apart why it cannot be used.
 *
 * <p>Every step is written down. Without the library nothing is loaded. Two HIP runtimes in one
 * process share nothing, so the one that is loaded already wins, and at most one is opened.
 */
final class HipLoader {
  /** System property: the absolute path of the library, instead of the system loader's choice. */
  static final String LIBRARY_PROPERTY = "holdfast.hip.library";

  /** Newest first; the name without a number exists only with developers' packages. */
  static final List<String> LIBRARIES =
      List.of("libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so");

  private static final String INSTALL = "Install the ROCm runtime, version 5.2 or later";

  // hipError_t, hip_runtime_api.h; 5.x answers the second where later versions answer the first.
  private static final int HIP_ERROR_NO_DEVICE = 100;
  private static final int HIP_ERROR_INVALID_DEVICE = 101;
  private static final int HIP_ERROR_INSUFFICIENT_DRIVER = 35;

  private final Surroundings around;
  private final ProbeLog log;

  private HipLoader(Surroundings around, ProbeLog log) {
    this.around = around;
    this.log = log;
  }

  /** What came of loading. */
  sealed interface Outcome {
    /**
     * The runtime is loaded and sees devices.
     *
     * @param bindings its functions
     * @param version major times 10 million, minor times 100 thousand, plus the patch
     * @param devices how many, at least one
     */
    record Started(HipBindings bindings, int version, int devices) implements Outcome {}

    /**
     * It cannot be used.
     *
     * @param why with the remedy
     */
    record Refused(Unavailable why) implements Outcome {}
  }

  /** Loads the runtime and counts devices. Never throws. */
  static Outcome load(Surroundings around, ProbeLog log) {
    HipLoader loader = new HipLoader(around, log);
    try {
      return loader.load();
    } catch (IllegalCallerException denied) {
      return new Outcome.Refused(nativeAccessDenied(denied));
    } catch (LinkageError | AssertionError broken) {
      return new Outcome.Refused(
          broken.getCause() instanceof IllegalCallerException || !mayCallNativeCode()
              ? nativeAccessDenied(broken)
              : new Unavailable(
                  "the binding to the HIP runtime is broken: " + broken,
                  "Report it with the transcript",
                  Optional.of(broken)));
    }
  }

  private Outcome load() {
    String system = System.getProperty("os.name", "");
    if (!system.toLowerCase(Locale.ROOT).startsWith("linux")) {
      log.tried("operating system", system);
      return refused("this is " + system + ", and the HIP backend knows Linux only", "");
    }
    noteEnvironment();
    noteDeviceNodes();
    log.tried(
        "native access",
        mayCallNativeCode()
            ? "enabled"
            : "not enabled for " + callerName() + "; the Java runtime warns, or refuses");

    Optional<String> path = around.property(LIBRARY_PROPERTY);
    if (path.isPresent()) {
      log.tried("system property " + LIBRARY_PROPERTY, path.get());
      if (!path.get().startsWith("/")) {
        return refused(
            LIBRARY_PROPERTY + " is '" + path.get() + "', which is not an absolute path",
            "Give it the absolute path of libamdhip64, or remove it");
      }
    }
    Optional<String> loaded = alreadyLoaded();
    loaded.ifPresent(
        file -> log.tried("/proc/self/maps", file + " is loaded already, so it is taken"));
    return open(loaded.or(() -> path).map(List::of).orElse(LIBRARIES));
  }

  private Outcome open(List<String> names) {
    Optional<String> unusable = Optional.empty();
    for (String name : names) {
      switch (DynamicLibrary.open(name)) {
        case DynamicLibrary.Opened opened -> {
          log.tried(name, alreadyLoaded().map(file -> "loaded from " + file).orElse("loaded"));
          return start(name, new HipBindings(opened.symbols()));
        }
        case DynamicLibrary.Refused no -> {
          log.tried(name, no.words());
          if (!no.notFound() && unusable.isEmpty()) {
            unusable = Optional.of(name + " is there but cannot be opened: " + no.words());
          }
        }
      }
    }
    if (unusable.isPresent()) {
      return refused(
          unusable.get(),
          "Check that it may be read, that the libraries it needs are installed, and that it is"
              + " built for "
              + System.getProperty("os.arch", "this processor"));
    }
    if (around.access("dev/kfd") == Access.ABSENT) {
      return refused(notFound(names) + ", and there is no /dev/kfd", INSTALL);
    }
    return refused(
        notFound(names) + " although there is /dev/kfd",
        INSTALL + ", or name the library with " + LIBRARY_PROPERTY);
  }

  private Outcome start(String name, HipBindings bindings) {
    List<String> missing = bindings.missing();
    if (!missing.isEmpty()) {
      log.tried("exports of " + name, "without " + String.join(", ", missing));
      return refused(
          name + " is not a HIP runtime that can be used: it lacks " + String.join(", ", missing),
          INSTALL + ", and let " + LIBRARY_PROPERTY + " name no other library");
    }
    log.tried("exports of " + name, "all that are needed");
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment number = arena.allocate(JAVA_INT);
      int code = bindings.hipRuntimeGetVersion(number);
      int version = code == 0 ? number.get(JAVA_INT, 0) : 0;
      log.tried(
          "hipRuntimeGetVersion",
          code == 0 ? version + ", HIP " + versionWords(version) : answer(bindings, code));
      number.set(JAVA_INT, 0, 0);
      code = bindings.hipGetDeviceCount(number);
      int devices = number.get(JAVA_INT, 0);
      log.tried("hipGetDeviceCount", code == 0 ? devices + " devices" : answer(bindings, code));
      if (code != 0) {
        int _ = bindings.hipGetLastError(); // a framework on this thread must not find our failure
      }
      if (code == 0 && devices > 0) {
        return new Outcome.Started(bindings, version, devices);
      }
      return new Outcome.Refused(noDevice(bindings, code));
    }
  }

  // ---- what is around

  private void noteEnvironment() {
    for (String name :
        List.of(
            "HIP_VISIBLE_DEVICES",
            "ROCR_VISIBLE_DEVICES",
            "CUDA_VISIBLE_DEVICES",
            "GPU_DEVICE_ORDINAL",
            "HSA_OVERRIDE_GFX_VERSION")) {
      around.variable(name).ifPresent(value -> log.tried(name, "'" + value + "'"));
    }
  }

  private void noteDeviceNodes() {
    note("dev/kfd");
    List<String> nodes = renderNodes();
    if (nodes.isEmpty()) {
      log.tried("/dev/dri/renderD*", "none");
    }
    nodes.forEach(this::note);
  }

  private void note(String node) {
    log.tried(
        "/" + node,
        switch (around.access(node)) {
          case ABSENT -> "not there";
          case USABLE -> "readable and writable";
          case FORBIDDEN -> "no permission";
        });
  }

  private List<String> renderNodes() {
    return around.names("dev/dri", "renderD").stream().map(name -> "dev/dri/" + name).toList();
  }

  /** A HIP runtime that something else in this process has loaded. */
  private Optional<String> alreadyLoaded() {
    return around
        .text("proc/self/maps")
        .flatMap(
            maps ->
                maps.lines()
                    .filter(line -> line.contains("/libamdhip64.so"))
                    .map(line -> line.substring(line.indexOf('/')))
                    .findFirst());
  }

  // ---- reasons

  private static Outcome refused(String reason, String remedy) {
    return new Outcome.Refused(Unavailable.because(reason, remedy));
  }

  private static Unavailable nativeAccessDenied(Throwable denied) {
    return new Unavailable(
        "this Java runtime does not let " + callerName() + " call native code",
        "Start Java with --enable-native-access=" + callerFlag(),
        Optional.of(denied));
  }

  /** The runtime gives one code for many causes; the nodes and variables tell them apart. */
  private Unavailable noDevice(HipBindings bindings, int code) {
    String asked = code == 0 ? "hipGetDeviceCount counts 0" : "hipGetDeviceCount answered " + code;
    if (code != 0
        && code != HIP_ERROR_NO_DEVICE
        && code != HIP_ERROR_INVALID_DEVICE
        && code != HIP_ERROR_INSUFFICIENT_DRIVER) {
      return Unavailable.because(
          "the HIP runtime does not start: hipGetDeviceCount answered " + answer(bindings, code),
          "Run rocminfo, and once more with AMD_LOG_LEVEL=3");
    }
    List<String> forbidden = new ArrayList<>();
    if (around.access("dev/kfd") == Access.FORBIDDEN) {
      forbidden.add("/dev/kfd");
    }
    for (String node : renderNodes()) {
      if (around.access(node) == Access.FORBIDDEN) {
        forbidden.add("/" + node);
      }
    }
    if (around.access("dev/kfd") == Access.ABSENT) {
      return Unavailable.because(
          "the HIP runtime is there, but no /dev/kfd: " + asked,
          "Load the amdgpu kernel module; in a container, pass in /dev/kfd and /dev/dri");
    }
    if (!forbidden.isEmpty()) {
      return Unavailable.because(
          "no permission to read and write " + String.join(", ", forbidden) + ": " + asked,
          "Add the user to the groups render and video, in a container by their numbers");
    }
    if (renderNodes().isEmpty()) {
      return Unavailable.because(
          "/dev/kfd is there, but no /dev/dri/renderD*: " + asked,
          "In a container, pass in /dev/dri as well");
    }
    for (String name :
        List.of("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")) {
      Optional<String> visible = around.variable(name);
      if (visible.isPresent()) {
        return Unavailable.because(
            "no device is visible with " + name + "='" + visible.get() + "': " + asked,
            "Unset " + name + ", or name devices that exist");
      }
    }
    return Unavailable.because(
        "the HIP runtime sees no device: " + asked,
        "Run rocminfo, and once more with AMD_LOG_LEVEL=3");
  }

  // ---- words

  /** 60443484 is 6.4.43484; builds of the early 5 count the patch in thousands. */
  static String versionWords(int version) {
    return version / 10_000_000 + "." + version / 100_000 % 100 + "." + version % 100_000;
  }

  private static String notFound(List<String> names) {
    return names.size() == 1
        ? names.getFirst() + " was not found"
        : "libamdhip64 was not found under any of its names";
  }

  private static String answer(HipBindings bindings, int code) {
    String name = bindings.hipGetErrorName(code);
    String text = bindings.hipGetErrorString(code);
    return code + " " + name + (text.isEmpty() || text.equals(name) ? "" : ", " + text);
  }

  private static boolean mayCallNativeCode() {
    return HipLoader.class.getModule().isNativeAccessEnabled();
  }

  private static String callerName() {
    Module module = HipLoader.class.getModule();
    return module.isNamed() ? "module " + module.getName() : "code on the class path";
  }

  private static String callerFlag() {
    Module module = HipLoader.class.getModule();
    return module.isNamed() ? module.getName() : "ALL-UNNAMED";
  }
}
