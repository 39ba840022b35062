package io.holdfast.bench.doctor;

import io.holdfast.host.HostSurvey;
import io.holdfast.host.PageKind;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** What is worth knowing of a host, with the report or the driver fact behind each sentence. */
final class Findings {
  private static final long PAGE_64K = 65_536;

  private final HostSurvey survey;
  private final Surroundings around;
  private final List<Finding> found = new ArrayList<>();

  private Findings(HostSurvey survey, Surroundings around) {
    this.survey = survey;
    this.around = around;
  }

  static List<Finding> of(HostSurvey survey, Surroundings around, Optional<Need> need) {
    Findings findings = new Findings(survey, around);
    findings.aboutSystem();
    findings.aboutDriver();
    findings.aboutPages(need);
    findings.aboutLimits(need);
    survey.notes().forEach(note -> findings.found.add(Finding.note("pins", note, "")));
    return List.copyOf(findings.found);
  }

  private void aboutSystem() {
    if (around.wsl()) {
      found.add(
          Finding.warning(
              "wsl",
              "this is WSL: all pins together may end near 1 GiB, devices have no virtual memory"
                  + " and the host has no nodes",
              "Pin a small pool and measure, or run on Linux itself"));
    }
    if (!around.container().isEmpty()) {
      found.add(
          Finding.note(
              "container",
              "this is a container ("
                  + around.container()
                  + "): pools and mounts are the host's, limits are the control group's",
              ""));
    }
    if (around.seccomp().equals("filter") && !around.mayPlace()) {
      found.add(
          Finding.warning(
              "seccomp",
              "a seccomp filter is set and CAP_SYS_NICE is missing: mbind and move_pages may be"
                  + " refused, and with them every placement",
              "Docker: --cap-add SYS_NICE; Kubernetes: securityContext.capabilities.add:"
                  + " [SYS_NICE]"));
    }
    if (!around.isAtLeast(5, 14) && !survey.system().isEmpty() && !survey.nodes().isEmpty()) {
      found.add(
          Finding.warning(
              "populate",
              "Linux before 5.14 cannot populate by call: pages are touched one by one, and a"
                  + " shortage then is a bus error",
              "Use a newer kernel"));
    }
    setting("/proc/sys/vm/zone_reclaim_mode")
        .filter(mode -> !mode.equals("0"))
        .ifPresent(
            mode ->
                found.add(
                    Finding.warning(
                        "reclaim",
                        "vm.zone_reclaim_mode is "
                            + mode
                            + ": a full node stalls instead of"
                            + " lending",
                        "sysctl -w vm.zone_reclaim_mode=0")));
  }

  private void aboutDriver() {
    int branch = around.driverBranch();
    if (branch >= 580 && branch < 615) {
      found.add(
          Finding.note(
              "driver",
              "NVIDIA "
                  + around.driverVersion()
                  + " refuses one registration of "
                  + (Integer.MAX_VALUE / 16 + 1L) * survey.basePageBytes()
                  + " bytes or more on base pages; plans stay below",
              ""));
    }
    if (branch >= 590 && branch <= 610 && survey.basePageBytes() == PAGE_64K) {
      found.add(
          Finding.warning(
              "driver",
              "NVIDIA "
                  + around.driverVersion()
                  + " on pages of 64 KiB faults below each 4 GiB of a mapping"
                  + " (open-gpu-kernel-modules issue 1269)",
              "Use a driver of branch 580"));
    }
    if (around.isAtLeast(6, 11) && !around.isAtLeast(6, 14)) {
      found.add(
          Finding.warning(
              "kernel",
              "Linux 6.11 to 6.13 had a defect by which one pin of more than 2 GiB is refused and"
                  + " leaks; a distribution may have mended it",
              "Use another kernel, or pin with a cap below 2 GiB"));
    }
    boolean coherent = survey.notes().stream().anyMatch(note -> note.contains("page tables"));
    if (coherent && setting("/proc/sys/kernel/numa_balancing").orElse("0").equals("1")) {
      found.add(
          Finding.warning(
              "balancing",
              "devices read the host's page tables and automatic NUMA balancing is on: pages move"
                  + " under them",
              "sysctl -w kernel.numa_balancing=0"));
    }
  }

  private void aboutPages(Optional<Need> need) {
    String enabled = choice("/sys/kernel/mm/transparent_hugepage/enabled");
    boolean wanted = need.map(one -> one.pages() instanceof PageKind.TransparentHuge).orElse(false);
    if (wanted && (enabled.equals("never") || survey.transparentPageBytes() == 0)) {
      found.add(
          Finding.warning(
              "thp",
              "transparent huge pages are asked for and off: every page will be a base page",
              "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"));
    }
    if (choice("/sys/kernel/mm/transparent_hugepage/defrag").equals("always")) {
      found.add(
          Finding.warning(
              "thp",
              "defrag of transparent huge pages is always: every process stalls to make them",
              "echo defer+madvise > /sys/kernel/mm/transparent_hugepage/defrag"));
    }
    for (HostSurvey.Pool pool : survey.pools()) {
      if (pool.surplus() > 0) {
        found.add(
            Finding.note(
                "pool",
                "the pool of "
                    + Texts.pages(pool.pageBytes())
                    + " has "
                    + pool.surplus()
                    + " surplus pages, which vanish when they are given back",
                ""));
      }
    }
  }

  private void aboutLimits(Optional<Need> need) {
    if (survey.lockLimitBytes().isPresent()) {
      long limit = survey.lockLimitBytes().getAsLong();
      long wanted = need.map(Need::bytesPerRank).orElse(0L);
      if (limit < wanted) {
        found.add(
            Finding.warning(
                "memlock",
                "RLIMIT_MEMLOCK is "
                    + limit
                    + " bytes for "
                    + wanted
                    + " wanted: CUDA does not count it, network cards and other drivers do",
                "ulimit -l unlimited; Docker: --ulimit memlock=-1:-1; systemd:"
                    + " LimitMEMLOCK=infinity"));
      }
    }
    setting("/proc/sys/vm/overcommit_memory")
        .filter(mode -> mode.equals("2"))
        .ifPresent(
            mode ->
                found.add(
                    Finding.note(
                        "commit",
                        "vm.overcommit_memory is 2: every mapping counts against CommitLimit at"
                            + " once",
                        "")));
  }

  private Optional<String> setting(String path) {
    return Optional.ofNullable(survey.texts().get(path));
  }

  private String choice(String path) {
    String text = survey.texts().getOrDefault(path, "");
    int open = text.indexOf('[');
    int close = text.indexOf(']');
    return open >= 0 && close > open ? text.substring(open + 1, close) : text;
  }
}
