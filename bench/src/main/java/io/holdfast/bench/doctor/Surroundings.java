package io.holdfast.bench.doctor;

import io.holdfast.host.HostSurvey;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What a host is besides its memory, as its texts tell.
 *
 * @param release the kernel's release
 * @param container docker, kubernetes, podman, other; empty outside of one
 * @param wsl whether the kernel is that of the Windows Subsystem for Linux
 * @param seccomp off, strict, filter; unknown where the kernel does not say
 * @param mayPlace whether the process has CAP_SYS_NICE, by which container filters let mbind pass
 * @param driverBranch of the NVIDIA kernel module; 0 where there is none
 * @param driverVersion of it in full, or empty
 */
public record Surroundings(
    String release,
    String container,
    boolean wsl,
    String seccomp,
    boolean mayPlace,
    int driverBranch,
    String driverVersion) {
  // The 23rd bit of a capability set (linux/capability.h, CAP_SYS_NICE).
  private static final long SYS_NICE = 1L << 23;

  private static final Pattern VERSION = Pattern.compile("([0-9]{3})\\.[0-9]+(\\.[0-9]+)?");
  private static final Pattern KERNEL = Pattern.compile("([0-9]{1,3})\\.([0-9]{1,4}).*");

  static Surroundings of(HostSurvey survey) {
    String release =
        survey.texts().getOrDefault("/proc/sys/kernel/osrelease", survey.release()).strip();
    String status = survey.texts().getOrDefault("/proc/self/status", "");
    String module =
        Optional.ofNullable(survey.texts().get("/sys/module/nvidia/version"))
            .or(() -> Optional.ofNullable(survey.texts().get("/proc/driver/nvidia/version")))
            .orElse("");
    Matcher version = VERSION.matcher(module);
    boolean found = version.find();
    return new Surroundings(
        release,
        container(survey),
        release.toLowerCase(Locale.ROOT).contains("microsoft"),
        switch (field(status, "Seccomp")) {
          case "0" -> "off";
          case "1" -> "strict";
          case "2" -> "filter";
          default -> "unknown";
        },
        hasSysNice(field(status, "CapEff")),
        found ? Integer.parseInt(version.group(1)) : 0,
        found ? version.group() : "");
  }

  /** Whether the kernel's release is at least that. */
  boolean isAtLeast(int major, int minor) {
    Matcher kernel = KERNEL.matcher(release);
    if (!kernel.matches()) {
      return false;
    }
    int own = Integer.parseInt(kernel.group(1));
    return own > major || (own == major && Integer.parseInt(kernel.group(2)) >= minor);
  }

  private static String field(String status, String name) {
    return status
        .lines()
        .filter(line -> line.startsWith(name + ":"))
        .map(line -> line.substring(name.length() + 1).strip())
        .findFirst()
        .orElse("");
  }

  private static boolean hasSysNice(String capabilities) {
    return capabilities.matches("[0-9a-fA-F]{1,16}")
        && (Long.parseUnsignedLong(capabilities, 16) & SYS_NICE) != 0;
  }

  private static String container(HostSurvey survey) {
    String groups =
        survey.texts().getOrDefault("/proc/self/cgroup", "")
            + survey.texts().getOrDefault("/proc/1/cgroup", "")
            + survey.caps();
    List<String> points = survey.mounts().stream().map(HostSurvey.Mount::point).toList();
    if (groups.contains("kubepods")
        || points.stream().anyMatch(point -> point.contains("/secrets/kubernetes.io/"))) {
      return "kubernetes";
    }
    if (survey.texts().containsKey("/run/.containerenv") || groups.contains("libpod")) {
      return "podman";
    }
    if (survey.texts().containsKey("/.dockerenv") || groups.contains("/docker")) {
      return "docker";
    }
    return groups.contains("/lxc") || groups.contains("containerd") ? "other" : "";
  }
}
