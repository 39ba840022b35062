package io.holdfast.backend.cpusim;

import io.holdfast.backend.cpusim.driver.DeviceSpec;
import io.holdfast.backend.cpusim.host.HostSpec;
import io.holdfast.backend.cpusim.host.HostSpec.Cgroup;
import io.holdfast.backend.cpusim.host.HostSpec.FileSystemType;
import io.holdfast.backend.cpusim.host.HostSpec.Lack;
import io.holdfast.backend.cpusim.host.HostSpec.Mount;
import io.holdfast.backend.cpusim.host.HostSpec.Node;
import io.holdfast.backend.cpusim.host.HostSpec.Pool;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** Reads a profile's lines one by one and says which were never asked for. */
final class ProfileLines {
  private final String profile;
  private final TreeMap<String, String> lines;
  private final Set<String> asked = new HashSet<>();

  ProfileLines(String profile, Map<String, String> lines) {
    this.profile = profile;
    this.lines = new TreeMap<>(lines);
  }

  String text(String key) {
    String value = optional(key);
    if (value == null) {
      throw new IllegalArgumentException("profile " + profile + " lacks the line '" + key + "'");
    }
    return value;
  }

  private @Nullable String optional(String key) {
    asked.add(key);
    return lines.get(key);
  }

  private String or(String key, String otherwise) {
    String value = optional(key);
    return value == null ? otherwise : value;
  }

  /** Lines whose keys begin so, without that beginning. */
  SortedMap<String, String> below(String prefix) {
    SortedMap<String, String> found = new TreeMap<>();
    for (Map.Entry<String, String> line : lines.tailMap(prefix).entrySet()) {
      if (!line.getKey().startsWith(prefix)) {
        break;
      }
      asked.add(line.getKey());
      found.put(line.getKey().substring(prefix.length()), line.getValue());
    }
    return found;
  }

  void finish() {
    Set<String> unknown = new TreeSet<>(lines.keySet());
    unknown.removeAll(asked);
    if (!unknown.isEmpty()) {
      throw new IllegalArgumentException("profile " + profile + " has unknown lines " + unknown);
    }
  }

  private IllegalArgumentException wrong(String key, String value, String wanted) {
    return new IllegalArgumentException(
        "profile " + profile + ": " + key + " = " + value + " must be " + wanted);
  }

  private long bytes(String key, String value) {
    String text = value.replace(" ", "").replace("_", "");
    int digits = 0;
    while (digits < text.length() && Character.isDigit(text.charAt(digits))) {
      digits++;
    }
    int shift =
        switch (text.substring(digits)) {
          case "" -> 0;
          case "KiB" -> 10;
          case "MiB" -> 20;
          case "GiB" -> 30;
          case "TiB" -> 40;
          default -> throw wrong(key, value, "bytes, such as 64KiB, 2MiB or 1TiB");
        };
    if (digits == 0 || digits > 18) {
      throw wrong(key, value, "bytes, such as 64KiB, 2MiB or 1TiB");
    }
    return Math.multiplyExact(Long.parseLong(text.substring(0, digits)), 1L << shift);
  }

  private long number(String key, String value) {
    if (!value.matches("-?[0-9_]{1,19}")) {
      throw wrong(key, value, "a number");
    }
    return Long.parseLong(value.replace("_", ""));
  }

  private SortedSet<Integer> numbers(String key, String value) {
    SortedSet<Integer> found = new TreeSet<>();
    for (String part : value.split(",", -1)) {
      if (part.isBlank()) {
        continue;
      }
      if (!part.strip().matches("[0-9]{1,6}(-[0-9]{1,6})?")) {
        throw wrong(key, value, "a list such as 0-3,8");
      }
      String[] ends = part.strip().split("-", 2);
      int last = Integer.parseInt(ends[ends.length - 1]);
      for (int i = Integer.parseInt(ends[0]); i <= last; i++) {
        found.add(i);
      }
    }
    return found;
  }

  // ---- the host

  HostSpec host() {
    SortedMap<Integer, Node> nodes = nodes();
    return new HostSpec(
        text("host.release"),
        text("host.machine"),
        bytes("host.base-page", text("host.base-page")),
        bytes("host.transparent-page", or("host.transparent-page", "0")),
        or("host.transparent", "madvise"),
        nodes,
        pools(),
        cgroup(),
        mounts(),
        lacks(),
        weights(),
        number("host.mappings", or("host.mappings", "65530")),
        lockLimit());
  }

  private OptionalLong lockLimit() {
    String value = or("host.lock-limit", "none");
    return value.equals("none")
        ? OptionalLong.empty()
        : OptionalLong.of(bytes("host.lock-limit", value));
  }

  private SortedMap<Integer, Node> nodes() {
    SortedMap<Integer, Node> nodes = new TreeMap<>();
    for (int node : numbers("nodes", text("nodes"))) {
      String stem = "node." + node + ".";
      List<Integer> distances = new ArrayList<>();
      for (String distance : text(stem + "distances").split("\\s+", -1)) {
        distances.add((int) number(stem + "distances", distance));
      }
      nodes.put(
          node,
          new Node(
              bytes(stem + "memory", text(stem + "memory")),
              numbers(stem + "cpus", or(stem + "cpus", "")),
              distances,
              or(stem + "allowed", "yes").equals("yes")));
    }
    return nodes;
  }

  /** {@code pool.2MiB.0 = 1024} and {@code pool.2MiB.overcommit = 16}. */
  private SortedMap<Long, Pool> pools() {
    SortedMap<Long, SortedMap<Integer, Long>> pages = new TreeMap<>();
    SortedMap<Long, Long> overcommit = new TreeMap<>();
    below("pool.")
        .forEach(
            (key, value) -> {
              int dot = key.indexOf('.');
              long page = bytes("pool." + key, key.substring(0, Math.max(0, dot)));
              String where = key.substring(dot + 1);
              SortedMap<Integer, Long> here = pages.computeIfAbsent(page, _ -> new TreeMap<>());
              if (where.equals("overcommit")) {
                overcommit.put(page, number("pool." + key, value));
              } else {
                here.put((int) number("pool." + key, where), number("pool." + key, value));
              }
            });
    SortedMap<Long, Pool> pools = new TreeMap<>();
    pages.forEach(
        (page, perNode) -> pools.put(page, new Pool(perNode, overcommit.getOrDefault(page, 0L))));
    return pools;
  }

  private Cgroup cgroup() {
    Map<Long, Long> huge = new TreeMap<>();
    Map<Long, Long> reserved = new TreeMap<>();
    OptionalLong memory = OptionalLong.empty();
    for (Map.Entry<String, String> line : below("cgroup.").entrySet()) {
      String key = "cgroup." + line.getKey();
      String[] words = line.getKey().split("\\.", -1);
      long limit = bytes(key, line.getValue());
      if (line.getKey().equals("memory.max")) {
        memory = OptionalLong.of(limit);
      } else if (words.length == 3 && words[0].equals("hugetlb") && words[2].equals("max")) {
        huge.put(bytes(key, words[1]), limit);
      } else if (words.length == 4
          && words[0].equals("hugetlb")
          && words[2].equals("rsvd")
          && words[3].equals("max")) {
        reserved.put(bytes(key, words[1]), limit);
      } else {
        throw wrong(key, line.getValue(), "memory.max, hugetlb.SIZE.max or hugetlb.SIZE.rsvd.max");
      }
    }
    return new Cgroup(or("cgroup", "/"), memory, huge, reserved);
  }

  /** {@code mount./dev/shm = tmpfs size=64GiB}. */
  private List<Mount> mounts() {
    List<Mount> mounts = new ArrayList<>();
    long base = bytes("host.base-page", text("host.base-page"));
    below("mount.")
        .forEach(
            (point, value) -> {
              String key = "mount." + point;
              List<String> words = List.of(value.split("\\s+", -1));
              FileSystemType type = choice(key, words.get(0), FileSystemType.class);
              long page = base;
              long size = 0;
              for (String word : words.subList(1, words.size())) {
                if (word.startsWith("size=")) {
                  size = bytes(key, word.substring("size=".length()));
                } else if (word.startsWith("page=")) {
                  page = bytes(key, word.substring("page=".length()));
                } else {
                  throw wrong(key, value, "a type, then page= and size=");
                }
              }
              mounts.add(new Mount(point, type, page, size));
            });
    return mounts;
  }

  private Set<Lack> lacks() {
    Set<Lack> lacks = EnumSet.noneOf(Lack.class);
    for (String word : or("host.lacks", "").split("[,\\s]+", -1)) {
      if (!word.isEmpty()) {
        lacks.add(choice("host.lacks", word, Lack.class));
      }
    }
    return lacks;
  }

  private Map<Integer, Integer> weights() {
    Map<Integer, Integer> weights = new TreeMap<>();
    below("weight.")
        .forEach(
            (node, value) ->
                weights.put(
                    (int) number("weight." + node, node), (int) number("weight." + node, value)));
    return weights;
  }

  private <E extends Enum<E>> E choice(String key, String value, Class<E> type) {
    String name = value.replace('-', '_').toUpperCase(Locale.ROOT);
    for (E constant : type.getEnumConstants()) {
      if (constant.name().equals(name)) {
        return constant;
      }
    }
    throw wrong(key, value, "one of " + List.of(type.getEnumConstants()));
  }

  // ---- devices

  List<DeviceSpec> devices() {
    List<DeviceSpec> devices = new ArrayList<>();
    int count = (int) number("devices", text("devices"));
    for (int i = 0; i < count; i++) {
      String stem = "device." + i + ".";
      String node = or(stem + "node", "");
      devices.add(
          new DeviceSpec(
              text("device.name"),
              String.format(Locale.ROOT, "5e100000-0000-4000-9000-%012x", i),
              or(stem + "pci", ""),
              bytes("device.memory", text("device.memory")),
              node.isEmpty() || node.equals("-1")
                  ? OptionalInt.empty()
                  : OptionalInt.of((int) number(stem + "node", node)),
              bytes("device.link-per-second", or("device.link-per-second", "0"))));
    }
    return devices;
  }
}
