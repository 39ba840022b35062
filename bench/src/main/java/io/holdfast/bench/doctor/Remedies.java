package io.holdfast.bench.doctor;

import io.holdfast.bench.tool.Wording;
import io.holdfast.host.HostSurvey;
import io.holdfast.host.PageKind;
import io.holdfast.host.Shortfall.Limit;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** What to type and what to write where, so that a need can be met and stays met. */
final class Remedies {
  private Remedies() {}

  /** Where a remedy goes. */
  enum Kind {
    /** A shell, as root, on the host. */
    COMMAND,
    /** The kernel's command line. */
    KERNEL_ARGUMENT,
    /** A pod's manifest. */
    KUBERNETES,
    /** {@code docker run}. */
    DOCKER,
    /** A person. */
    ADVICE
  }

  /**
   * One remedy.
   *
   * @param kind where it goes
   * @param text what to type
   * @param why what it raises
   */
  record Remedy(Kind kind, String text, String why) {}

  /** What removes each limit that binds. */
  static List<Remedy> of(Need need, Judgement judgement, HostSurvey survey, Surroundings around) {
    Set<Remedy> remedies = new LinkedHashSet<>();
    if (judgement.beyondMemory()) { // a pool that is larger than that cannot be made
      Limit beyond = judgement.limits().getFirst();
      return List.of(new Remedy(Kind.ADVICE, beyond.remedy(), beyond.describe()));
    }
    boolean byNode =
        judgement.limits().stream().anyMatch(one -> isPool(one) && one.node().isPresent());
    for (Limit limit : judgement.limits()) {
      if (byNode && isPool(limit) && limit.node().isEmpty()) {
        continue; // the nodes' own commands raise the whole pool too
      }
      for (String part : Wording.ofCommand(limit.remedy()).split("; ", -1)) {
        if (!part.startsWith("on Kubernetes request ")) { // said in full among the reservations
          remedies.add(new Remedy(kindOf(part), part, limit.describe()));
        }
      }
    }
    judgement
        .refusals()
        .forEach(
            refusal -> remedies.add(new Remedy(Kind.ADVICE, refusal.remedy(), refusal.text())));
    if (!judgement.limits().isEmpty()) {
      remedies.addAll(reservations(need, judgement, survey, around));
    }
    return List.copyOf(remedies);
  }

  private static boolean isPool(Limit limit) {
    return limit.name().startsWith("the pool of ");
  }

  private static Kind kindOf(String part) {
    if (part.startsWith("on Kubernetes")) {
      return Kind.KUBERNETES;
    }
    return part.matches("(echo|sysctl|mount) .*") ? Kind.COMMAND : Kind.ADVICE;
  }

  /** What makes a need's memory certain at every start, feasible now or not. */
  static List<Remedy> reservations(
      Need need, Judgement judgement, HostSurvey survey, Surroundings around) {
    List<Remedy> all = new ArrayList<>();
    if (judgement.beyondMemory()) {
      return all;
    }
    if (need.pages() instanceof PageKind.HugeTlb huge) {
      all.add(kernelArgument(huge.pageBytes(), judgement, survey, around));
      all.add(
          new Remedy(
              Kind.KUBERNETES,
              kubernetes("hugepages-" + Texts.quantity(huge.pageBytes()), judgement.totalBytes()),
              "one pod with all ranks; pages must be there before the kubelet starts"));
    } else {
      all.add(
          new Remedy(
              Kind.KUBERNETES,
              "resources: {requests: {memory: %1$s}, limits: {memory: %1$s}}"
                  .formatted(memory(judgement.totalBytes())),
              "one pod with all ranks, beside what they need otherwise"));
    }
    all.add(
        new Remedy(
            Kind.DOCKER,
            "--ulimit memlock=-1:-1 --cap-add SYS_NICE"
                + (need.pages() instanceof PageKind.Directory in
                    ? " --mount type=bind,source=%1$s,target=%1$s".formatted(in.directory())
                    : ""),
            "locked memory, and placement on nodes"));
    return all;
  }

  /** Pools as the kernel makes them when it boots: by node where places have nodes. */
  private static Remedy kernelArgument(
      long pageBytes, Judgement judgement, HostSurvey survey, Surroundings around) {
    TreeMap<Integer, Long> wanted = new TreeMap<>();
    boolean everywhere = false;
    for (Judgement.Place place : judgement.places()) {
      everywhere |= place.nodes().isEmpty();
      for (int node : place.nodes()) {
        long pages = place.neededBytes() / pageBytes;
        wanted.merge(node, Math.ceilDiv(pages, place.nodes().size()), Long::sum);
      }
    }
    long used =
        survey.pools().stream()
            .filter(pool -> pool.pageBytes() == pageBytes)
            .mapToLong(pool -> pool.total() - pool.free() + pool.reserved())
            .sum();
    // By node since Linux 5.16.
    boolean byNode = !everywhere && survey.nodes().size() > 1 && around.isAtLeast(5, 16);
    String pages =
        byNode
            ? wanted.entrySet().stream()
                .map(
                    node ->
                        node.getKey()
                            + ":"
                            + (node.getValue() + usedOn(node.getKey(), pageBytes, survey)))
                .collect(Collectors.joining(","))
            : Long.toString(judgement.totalBytes() / pageBytes + used);
    return new Remedy(
        Kind.KERNEL_ARGUMENT,
        "hugepagesz=" + Texts.kernel(pageBytes) + " hugepages=" + pages,
        "what is used now and this need, before memory is scattered");
  }

  private static long usedOn(int node, long pageBytes, HostSurvey survey) {
    return survey.nodes().stream()
        .filter(one -> one.number() == node)
        .flatMap(one -> one.pools().stream())
        .filter(pool -> pool.pageBytes() == pageBytes)
        .mapToLong(pool -> pool.total() - pool.free())
        .sum();
  }

  private static String kubernetes(String resource, long bytes) {
    return """
    resources: {requests: {memory: 1Gi, cpu: 1, %1$s: %2$s}, limits: {memory: 1Gi, %1$s: %2$s}}
    volumes: [{name: hugepages, emptyDir: {medium: %3$s}}]
    volumeMounts: [{name: hugepages, mountPath: /dev/hugepages}]\
    """
        .formatted(resource, Texts.quantity(bytes), resource.replace("hugepages", "HugePages"));
  }

  // Whole MiB, so that the quantity can be read.
  private static String memory(long bytes) {
    return Texts.quantity(Math.ceilDiv(bytes, 1L << 20) << 20);
  }
}
