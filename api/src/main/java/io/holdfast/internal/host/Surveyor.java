package io.holdfast.internal.host;

import io.holdfast.host.HostSurvey;
import io.holdfast.internal.host.Machine.HugePool;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.HostKernel.Identity;
import io.holdfast.spi.HostKernel.Pages;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Puts what the limit check reads into one value, and the settings that explain it. */
final class Surveyor {
  private static final String TRANSPARENT = "/sys/kernel/mm/transparent_hugepage";

  // Settings that decide what the memory of a process is like. None names a user or a secret.
  private static final List<String> TEXTS =
      List.of(
          TRANSPARENT + "/enabled",
          TRANSPARENT + "/defrag",
          TRANSPARENT + "/shmem_enabled",
          "/proc/sys/kernel/osrelease",
          "/proc/sys/kernel/numa_balancing",
          "/proc/sys/kernel/yama/ptrace_scope",
          "/proc/sys/vm/max_map_count",
          "/proc/sys/vm/overcommit_memory",
          "/proc/sys/vm/overcommit_ratio",
          "/proc/sys/vm/zone_reclaim_mode",
          "/proc/driver/nvidia/version",
          "/sys/module/nvidia/version",
          "/sys/module/amdgpu/version",
          "/sys/devices/system/node/has_memory",
          "/proc/self/cgroup",
          "/proc/1/cgroup",
          // Empty files whose presence says that this is a container.
          "/.dockerenv",
          "/run/.containerenv");

  private static final List<String> STATUS =
      List.of("Seccomp", "NoNewPrivs", "CapEff", "Mems_allowed_list");

  // Far above any of these texts; a text of another kind is not carried around.
  private static final int MOST_CHARACTERS = 8192;

  private final HostKernel kernel;
  private final Machine machine;
  private final Cgroups cgroups;

  Surveyor(HostKernel kernel, Machine machine) {
    this.kernel = kernel;
    this.machine = machine;
    this.cgroups = new Cgroups(kernel, machine);
  }

  HostSurvey survey(List<String> notes) {
    Identity identity = kernel.identity();
    boolean asked = kernel.pages() == Pages.KERNEL;
    Set<Long> sizes = asked ? machine.hugePageSizes() : Set.of();
    return new HostSurvey(
        identity.system(),
        identity.release(),
        identity.machine(),
        kernel.basePageBytes(),
        asked && kernel.text(TRANSPARENT + "/enabled").isPresent()
            ? machine.transparentHugePageBytes()
            : 0,
        asked ? machine.allowedNodes() : Set.of(),
        asked ? machine.nodes().stream().map(node -> node(node, sizes)).toList() : List.of(),
        sizes.stream().map(this::pool).toList(),
        asked ? caps(sizes) : List.of(),
        asked ? mounts() : List.of(),
        kernel.lockLimitBytes(),
        asked ? machine.mappings() : OptionalLong.empty(),
        asked ? texts() : Map.of(),
        notes);
  }

  private HostSurvey.Node node(int number, Set<Long> sizes) {
    Map<String, Long> memory = machine.nodeMemory(number);
    if (memory.isEmpty() && machine.nodes().size() == 1) {
      memory = machine.memory(); // a kernel without nodes has one, and does not count it apart
    }
    return new HostSurvey.Node(
        number,
        memory.getOrDefault("MemTotal", 0L),
        memory.getOrDefault("MemFree", 0L),
        memory.getOrDefault("Active(file)", 0L) + memory.getOrDefault("Inactive(file)", 0L),
        machine.cpusOf(number).isEmpty() ? "" : NumberList.text(machine.cpusOf(number)),
        sizes.stream().flatMap(size -> nodePool(number, size)).toList());
  }

  private Stream<HostSurvey.NodePool> nodePool(int node, long pageBytes) {
    OptionalLong free = machine.freeOnNode(node, pageBytes);
    return free.isEmpty()
        ? Stream.empty()
        : Stream.of(
            new HostSurvey.NodePool(
                pageBytes,
                machine.totalOnNode(node, pageBytes),
                free.getAsLong(),
                machine
                    .number(Machine.nodePoolFolder(node, pageBytes) + "/surplus_hugepages")
                    .orElse(0)));
  }

  private HostSurvey.Pool pool(long pageBytes) {
    HugePool pool = machine.pool(pageBytes);
    return new HostSurvey.Pool(
        pageBytes, pool.total(), pool.free(), pool.reserved(), pool.surplus(), pool.overcommit());
  }

  private List<HostSurvey.Cap> caps(Set<Long> sizes) {
    List<HostSurvey.Cap> caps = new ArrayList<>();
    cgroups
        .memory()
        .forEach(
            cap -> caps.add(new HostSurvey.Cap(cap.file(), 0, cap.limitBytes(), cap.usedBytes())));
    for (long size : sizes) {
      cgroups
          .hugePages(size)
          .forEach(
              cap ->
                  caps.add(
                      new HostSurvey.Cap(cap.file(), size, cap.limitBytes(), cap.usedBytes())));
    }
    return caps;
  }

  private List<HostSurvey.Mount> mounts() {
    return Mounts.of(kernel).all().stream()
        .filter(
            mount ->
                Set.of("hugetlbfs", "tmpfs").contains(mount.type())
                    || mount.type().equals("cgroup2"))
        .map(mount -> new HostSurvey.Mount(mount.point(), mount.type(), mount.options()))
        .toList();
  }

  private Map<String, String> texts() {
    Map<String, String> texts = new TreeMap<>();
    for (String path : TEXTS) {
      kernel
          .text(path)
          .filter(text -> text.length() <= MOST_CHARACTERS)
          .ifPresent(text -> texts.put(path, text.strip()));
    }
    String status =
        STATUS.stream()
            .flatMap(
                name ->
                    machine
                        .field("/proc/self/status", name)
                        .map(value -> name + ": " + value)
                        .stream())
            .collect(Collectors.joining("\n"));
    if (!status.isEmpty()) {
      texts.put("/proc/self/status", status);
    }
    return texts;
  }
}
