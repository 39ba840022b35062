package io.holdfast.bench.run;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.bench.tool.Console;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * What a machine is, read from procfs and sysfs below a root. Nothing is guessed: what a kernel
 * does not say is left out. No host name, user or path is taken.
 */
public final class Facts {
  private static final Pattern HUGE = Pattern.compile("hugepages-([0-9]+)kB");
  private static final Pattern NODE = Pattern.compile("node([0-9]+)");
  private static final Pattern NVIDIA = Pattern.compile("Kernel Module(?: for \\S+)?\\s+([0-9.]+)");
  private static final String NVIDIA_VENDOR = "0x10de";
  private static final String AMD_VENDOR = "0x1002";

  private final Path root;

  /**
   * Facts below a root.
   *
   * @param root {@code /}, or a tree that stands in for it
   */
  public Facts(Path root) {
    this.root = root;
  }

  /**
   * All of them.
   *
   * @return one JSON object
   */
  public ObjectNode read() {
    ObjectNode facts = Console.json().createObjectNode();
    facts.put("os", System.getProperty("os.name") + " " + System.getProperty("os.version"));
    text("proc/sys/kernel/osrelease").ifPresent(kernel -> facts.put("kernel", kernel));
    facts.put("arch", System.getProperty("os.arch"));
    facts.put("java", System.getProperty("java.vm.name") + " " + Runtime.version());
    cpu(facts.putObject("cpu"));
    memory(facts.putObject("memory"));
    transparent(facts.putObject("thp"));
    nodes(facts.putArray("nodes"));
    pools(facts.putArray("hugePages"), root.resolve("sys/kernel/mm/hugepages"));
    drivers(facts.putObject("drivers"));
    accelerators(facts.putArray("accelerators"));
    return facts;
  }

  /**
   * Memory that a run may use now.
   *
   * @return the least of what the kernel says is available and what the control group leaves
   */
  public OptionalLong availableBytes() {
    OptionalLong available = meminfo("MemAvailable");
    OptionalLong left = groupLeft();
    if (available.isPresent() && left.isPresent()) {
      return OptionalLong.of(Math.min(available.getAsLong(), left.getAsLong()));
    }
    return available.isPresent() ? available : left;
  }

  /**
   * Free pages of a HugeTLB pool.
   *
   * @param pageBytes size of its pages
   * @return how many; empty where there is no such pool
   */
  public OptionalLong freePages(long pageBytes) {
    return number("sys/kernel/mm/hugepages/" + poolName(pageBytes) + "/free_hugepages");
  }

  /**
   * All pages of a HugeTLB pool, taken or free.
   *
   * @param pageBytes size of its pages
   * @return how many; empty where there is no such pool
   */
  public OptionalLong allPages(long pageBytes) {
    return number("sys/kernel/mm/hugepages/" + poolName(pageBytes) + "/nr_hugepages");
  }

  private void cpu(ObjectNode cpu) {
    List<String> lines = lines("proc/cpuinfo");
    cpuValue(lines, "model name").ifPresent(model -> cpu.put("model", model));
    if (!cpu.has("model")) { // Arm names a part number only
      cpuValue(lines, "CPU part")
          .ifPresent(
              part ->
                  cpu.put(
                      "model",
                      "implementer "
                          + cpuValue(lines, "CPU implementer").orElse("?")
                          + " part "
                          + part));
    }
    cpu.put("threads", lines.stream().filter(line -> line.startsWith("processor")).count());
    long sockets = lines.stream().filter(line -> line.startsWith("physical id")).distinct().count();
    if (sockets > 0) {
      cpu.put("sockets", sockets);
    }
    cpu.put("usable", Runtime.getRuntime().availableProcessors());
    boolean guest =
        lines.stream().anyMatch(line -> line.startsWith("flags") && line.contains(" hypervisor"));
    cpu.put("virtual", guest);
    text("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
        .ifPresent(governor -> cpu.put("governor", governor));
  }

  private static Optional<String> cpuValue(List<String> lines, String key) {
    return lines.stream()
        .filter(line -> line.startsWith(key))
        .map(line -> line.substring(line.indexOf(':') + 1).strip())
        .findFirst();
  }

  private void memory(ObjectNode memory) {
    meminfo("MemTotal").ifPresent(bytes -> memory.put("totalBytes", bytes));
    meminfo("MemAvailable").ifPresent(bytes -> memory.put("availableBytes", bytes));
    number("sys/fs/cgroup/memory.max").ifPresent(bytes -> memory.put("groupLimitBytes", bytes));
    for (String line : lines("proc/self/limits")) {
      if (line.startsWith("Max locked memory")) {
        memory.put(
            "lockLimit", line.substring("Max locked memory".length()).strip().split(" +")[0]);
      }
    }
  }

  private OptionalLong meminfo(String key) {
    for (String line : lines("proc/meminfo")) {
      if (line.startsWith(key + ":")) {
        Matcher value = Pattern.compile("([0-9]+) kB").matcher(line);
        return value.find()
            ? OptionalLong.of(Long.parseLong(value.group(1)) << 10)
            : OptionalLong.empty();
      }
    }
    return OptionalLong.empty();
  }

  private OptionalLong groupLeft() {
    OptionalLong limit = number("sys/fs/cgroup/memory.max");
    OptionalLong used = number("sys/fs/cgroup/memory.current");
    return limit.isPresent() && used.isPresent()
        ? OptionalLong.of(Math.max(0, limit.getAsLong() - used.getAsLong()))
        : OptionalLong.empty();
  }

  private void transparent(ObjectNode thp) {
    for (String knob : List.of("enabled", "defrag", "shmem_enabled")) {
      text("sys/kernel/mm/transparent_hugepage/" + knob)
          .map(all -> all.replaceAll(".*\\[(.*)\\].*", "$1"))
          .ifPresent(chosen -> thp.put(knob, chosen));
    }
  }

  private void nodes(ArrayNode nodes) {
    for (Path folder : children(root.resolve("sys/devices/system/node"))) {
      Matcher name = NODE.matcher(String.valueOf(folder.getFileName()));
      if (!name.matches()) {
        continue;
      }
      ObjectNode node = nodes.addObject();
      node.put("node", Integer.parseInt(name.group(1)));
      text(folder.resolve("cpulist")).ifPresent(cpus -> node.put("cpus", cpus));
      text(folder.resolve("distance")).ifPresent(distance -> node.put("distance", distance));
      text(folder.resolve("meminfo"))
          .map(content -> Pattern.compile("MemTotal:\\s*([0-9]+) kB").matcher(content))
          .filter(Matcher::find)
          .ifPresent(total -> node.put("totalBytes", Long.parseLong(total.group(1)) << 10));
      pools(node.putArray("hugePages"), folder.resolve("hugepages"));
    }
  }

  private static void pools(ArrayNode pools, Path folder) {
    for (Path pool : children(folder)) {
      Matcher name = HUGE.matcher(String.valueOf(pool.getFileName()));
      if (name.matches()) {
        ObjectNode one = pools.addObject();
        one.put("pageBytes", Long.parseLong(name.group(1)) << 10);
        text(pool.resolve("nr_hugepages")).ifPresent(all -> one.put("pages", Long.parseLong(all)));
        text(pool.resolve("free_hugepages"))
            .ifPresent(free -> one.put("freePages", Long.parseLong(free)));
      }
    }
  }

  private void drivers(ObjectNode drivers) {
    text("proc/driver/nvidia/version")
        .map(NVIDIA::matcher)
        .filter(Matcher::find)
        .ifPresent(version -> drivers.put("nvidia", version.group(1)));
    text("sys/module/amdgpu/version").ifPresent(version -> drivers.put("amdgpu", version));
    if (!drivers.has("amdgpu") && Files.isDirectory(root.resolve("sys/module/amdgpu"))) {
      drivers.put("amdgpu", "in the kernel");
    }
  }

  /** Display and processing accelerators of the two vendors, with the link each hangs on. */
  private void accelerators(ArrayNode accelerators) {
    for (Path device : children(root.resolve("sys/bus/pci/devices"))) {
      String vendor = text(device.resolve("vendor")).orElse("");
      String kind = text(device.resolve("class")).orElse("");
      boolean ours = vendor.equals(NVIDIA_VENDOR) || vendor.equals(AMD_VENDOR);
      if (!ours || !(kind.startsWith("0x03") || kind.startsWith("0x12"))) {
        continue;
      }
      ObjectNode one = accelerators.addObject();
      one.put("pci", String.valueOf(device.getFileName()));
      one.put("vendor", vendor.equals(NVIDIA_VENDOR) ? "NVIDIA" : "AMD");
      text(device.resolve("device")).ifPresent(id -> one.put("deviceId", id));
      text(device.resolve("numa_node")).ifPresent(node -> one.put("node", node));
      link(device, "current", one);
      link(device, "max", one);
    }
  }

  private static void link(Path device, String which, ObjectNode one) {
    Optional<String> speed = text(device.resolve(which + "_link_speed"));
    Optional<String> width = text(device.resolve(which + "_link_width"));
    if (speed.isEmpty() || width.isEmpty()) {
      return;
    }
    OptionalLong lanes = parse(width.get());
    double transfers = transfers(speed.get());
    if (lanes.isEmpty() || lanes.getAsLong() <= 0 || Double.isNaN(transfers)) {
      return;
    }
    ObjectNode link = one.putObject(which + "Link");
    link.put("gigatransfersPerSecond", transfers);
    link.put("generation", generation(transfers));
    link.put("width", lanes.getAsLong());
    link.put("gigabytesPerSecond", gigabytesPerLane(transfers) * lanes.getAsLong());
  }

  private static double transfers(String speed) { // "32.0 GT/s PCIe"
    Matcher value = Pattern.compile("^([0-9.]+) GT/s").matcher(speed);
    return value.find() ? Double.parseDouble(value.group(1)) : Double.NaN;
  }

  private static int generation(double transfers) {
    double[] byGeneration = {2.5, 5, 8, 16, 32, 64};
    for (int i = 0; i < byGeneration.length; i++) {
      if (transfers <= byGeneration[i]) {
        return i + 1;
      }
    }
    return byGeneration.length + 1;
  }

  /** What the encoding leaves: 8b/10b below generation 3, then 128b/130b, then flits. */
  static double gigabytesPerLane(double transfers) {
    if (transfers <= 5) {
      return transfers * 8 / 10 / 8;
    }
    return transfers < 64 ? transfers * 128 / 130 / 8 : transfers * 242 / 256 / 8;
  }

  private static List<Path> children(Path folder) {
    List<Path> found = new ArrayList<>();
    try (DirectoryStream<Path> entries = Files.newDirectoryStream(folder)) {
      entries.forEach(found::add);
    } catch (IOException _) { // not on this machine
    }
    found.sort(
        (a, b) -> {
          int byLength = Integer.compare(a.toString().length(), b.toString().length());
          return byLength != 0 ? byLength : a.compareTo(b);
        });
    return found;
  }

  private List<String> lines(String file) {
    try (Stream<String> lines = Files.lines(root.resolve(file), StandardCharsets.UTF_8)) {
      return lines.toList();
    } catch (IOException | java.io.UncheckedIOException _) {
      return List.of();
    }
  }

  private OptionalLong number(String file) {
    return text(file).map(Facts::parse).orElse(OptionalLong.empty());
  }

  private static OptionalLong parse(String text) {
    try {
      return OptionalLong.of(Long.parseLong(text));
    } catch (NumberFormatException _) { // "max", or "Unknown"
      return OptionalLong.empty();
    }
  }

  private Optional<String> text(String file) {
    return text(root.resolve(file));
  }

  private static Optional<String> text(Path file) {
    try {
      return Optional.of(Files.readString(file, StandardCharsets.UTF_8).strip())
          .filter(content -> !content.isEmpty());
    } catch (IOException _) {
      return Optional.empty();
    }
  }

  /**
   * A size as a kernel names its pool, for messages.
   *
   * @param pageBytes bytes of a page
   * @return for example {@code hugepages-2048kB}
   */
  static String poolName(long pageBytes) {
    return String.format(Locale.ROOT, "hugepages-%dkB", pageBytes >> 10);
  }
}
