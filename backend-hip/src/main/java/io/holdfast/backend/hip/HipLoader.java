package io.holdfast.backend.hip;

import static io.holdfast.backend.hip.HipConstants.HIP_ERROR_INSUFFICIENT_DRIVER;
import static io.holdfast.backend.hip.HipConstants.HIP_ERROR_INVALID_DEVICE;
import static io.holdfast.backend.hip.HipConstants.HIP_ERROR_NO_DEVICE;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import io.holdfast.Availability.Unavailable;
import io.holdfast.backend.hip.Surroundings.Access;
import io.holdfast.spi.LibraryFile;
import io.holdfast.spi.ProbeLog;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
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

  /** System property: {@code on} compiles the copy kernels, which nobody has reported a run of. */
  static final String KERNELS_PROPERTY = "holdfast.hip.kernels";

  private static final String INSTALL = "Install the ROCm runtime, version 5.2 or later";

  /** 5.2, as hipRuntimeGetVersion counts: the oldest whose exports were looked at. */
  private static final int OLDEST_VERSION = 50_200_000;

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
     * @param version which one
     * @param devices how many, at least one
     * @param kernels whether copies by the device's own cores are wanted
     */
    record Started(
        HipBindings bindings, HipVersion version, int devices, HipDriver.KernelWish kernels)
        implements Outcome {}

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
    String kernels = around.property(KERNELS_PROPERTY).orElse("off");
    if (!List.of("off", "on").contains(kernels)) {
      log.tried("system property " + KERNELS_PROPERTY, kernels);
      return refused(
          KERNELS_PROPERTY + " is '" + kernels + "', which is neither on nor off",
          "Set it to on or off, or remove it");
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
      Optional<LibraryFile.Distrust> distrust = LibraryFile.distrust(path.get());
      if (distrust.isPresent()) {
        log.tried(path.get(), "not loaded: " + distrust.get().reason());
        return refused(
            LIBRARY_PROPERTY + " is not followed: " + distrust.get().reason(),
            distrust.get().remedy() + ", or remove the property");
      }
    }
    Optional<String> loaded = alreadyLoaded();
    loaded.ifPresent(
        file -> log.tried("/proc/self/maps", file + " is loaded already, so it is taken"));
    Optional<String> named = loaded.or(() -> path);
    if (named.isEmpty() && hasNoDeviceNode()) {
      log.tried(
          "libamdhip64", "not loaded: without a device node it can only say that there is none");
      return refused(
          "there is no /dev/kfd, so no AMD device and no need to load the HIP runtime",
          "Load the amdgpu kernel module; in a container, pass in /dev/kfd and /dev/dri; or name"
              + " the library with "
              + LIBRARY_PROPERTY);
    }
    return open(named.map(List::of).orElse(LIBRARIES));
  }

  /**
   * Without a node there is no device, and loading the runtime has a price: it starts threads and
   * reserves address space, and Debian's asks for an executable stack, which the Java runtime warns
   * about. Windows' kernel for Linux has another node.
   */
  private boolean hasNoDeviceNode() {
    return around.access("dev/kfd") == Access.ABSENT && around.access("dev/dxg") == Access.ABSENT;
  }

  private Outcome open(List<String> names) {
    Optional<String> unusable = Optional.empty();
    for (String name : names) {
      if (name.startsWith("/") && ExecutableStack.isAskedFor(Path.of(name))) {
        log.tried(
            "PT_GNU_STACK of " + name,
            "asks for an executable stack: the Java runtime warns of it, and C libraries from 2.41"
                + " on refuse to load it");
      }
      switch (DynamicLibrary.open(name)) {
        case DynamicLibrary.Opened opened -> {
          log.tried(name, alreadyLoaded().map(file -> "loaded from " + file).orElse("loaded"));
          return start(name, new HipBindings(name, opened.symbols()));
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
      HipVersion version = new HipVersion(code == 0 ? number.get(JAVA_INT, 0) : 0);
      log.tried(
          "hipRuntimeGetVersion",
          code == 0 ? version.number() + ", HIP " + version.words() : answer(bindings, code));
      if (version.number() < OLDEST_VERSION) {
        return refused(
            code == 0
                ? "the HIP runtime is " + version.words() + ", and 5.2 is the oldest that is known"
                : "the HIP runtime does not tell its version: " + answer(bindings, code),
            INSTALL);
      }
      for (HipFeature feature : HipFeature.values()) {
        log.tried(
            feature.words(),
            bindings.offers(feature) ? "exported" + version.reservation(feature) : "absent");
      }
      number.set(JAVA_INT, 0, 0);
      code = bindings.hipGetDeviceCount(number);
      int devices = number.get(JAVA_INT, 0);
      log.tried("hipGetDeviceCount", code == 0 ? devices + " devices" : answer(bindings, code));
      if (code != 0) {
        int _ = bindings.hipGetLastError(); // a framework on this thread must not find our failure
      }
      if (code == 0 && devices > 0) {
        return new Outcome.Started(bindings, version, devices, kernelWish());
      }
      return new Outcome.Refused(noDevice(bindings, code));
    }
  }

  private HipDriver.KernelWish kernelWish() {
    String wish = around.property(KERNELS_PROPERTY).orElse("off");
    log.tried("system property " + KERNELS_PROPERTY, wish);
    return wish.equals("on") ? HipDriver.KernelWish.ON : HipDriver.KernelWish.OFF;
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
