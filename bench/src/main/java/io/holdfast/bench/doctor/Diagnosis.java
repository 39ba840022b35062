package io.holdfast.bench.doctor;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.Backend;
import io.holdfast.bench.doctor.Remedies.Remedy;
import io.holdfast.bench.tool.Console;
import io.holdfast.device.DeviceInfo;
import io.holdfast.host.HostSurvey;
import io.holdfast.host.PageKind;
import io.holdfast.host.Shortfall.Limit;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;

/**
 * Everything the doctor found.
 *
 * @param backend through which it looked
 * @param version of that backend's driver
 * @param survey what the kernel says
 * @param around what the host is besides
 * @param devices what the driver shows
 * @param findings what is worth knowing
 * @param need what was asked, if anything
 * @param judgement on it
 * @param remedies what to change
 * @param reservations what keeps it so
 * @param measurement how fast it is here
 */
public record Diagnosis(
    String backend,
    String version,
    HostSurvey survey,
    Surroundings around,
    List<DeviceInfo> devices,
    List<Finding> findings,
    Optional<Need> need,
    Optional<Judgement> judgement,
    List<Remedy> remedies,
    List<Remedy> reservations,
    Optional<Measurement> measurement) {

  /** Whether a measurement may take memory for a moment. */
  public enum Measure {
    /** Maps a quarter of a GiB and gives it back. */
    YES,
    /** Touches nothing. */
    NO
  }

  /**
   * Looks at a host through a backend.
   *
   * @param backend whose host
   * @param need what shall run, if anything
   * @param measure whether to measure
   * @return what was found
   */
  public static Diagnosis of(Backend backend, Optional<Need> need, Measure measure) {
    Objects.requireNonNull(backend, "backend");
    HostSurvey survey = surveyed(backend);
    Surroundings around = Surroundings.of(survey);
    List<DeviceInfo> devices = backend.devices();
    List<Finding> findings = new ArrayList<>(Findings.of(survey, around, need));
    need.flatMap(one -> one.unplaced(devices))
        .ifPresent(
            text -> findings.add(Finding.warning("numa", text, "Name nodes: --numa bind:0")));
    Optional<Judgement> judgement =
        need.map(one -> Judgement.of(one, backend.pageSource(), survey, devices));
    judgement.ifPresent(found -> findings.addAll(aboutPlaces(found, survey)));
    return new Diagnosis(
        backend.id(),
        backend.version(),
        survey,
        around,
        devices,
        findings,
        need,
        judgement,
        need.map(one -> Remedies.of(one, judgement.orElseThrow(), survey, around))
            .orElse(List.of()),
        need.map(one -> Remedies.reservations(one, judgement.orElseThrow(), survey, around))
            .orElse(List.of()),
        measure == Measure.YES
            ? Optional.of(Measurement.of(backend, need.map(Need::pages).orElseGet(PageKind::base)))
            : Optional.empty());
  }

  private static List<Finding> aboutPlaces(Judgement found, HostSurvey survey) {
    return survey.nodes().stream()
        .filter(node -> node.cpus().isEmpty() && survey.nodes().size() > 1)
        .filter(
            node ->
                found.places().stream().anyMatch(place -> place.nodes().contains(node.number())))
        .map(
            node ->
                Finding.warning(
                    "numa",
                    "node "
                        + node.number()
                        + " has no CPUs: it may be a device's own memory, which the device needs",
                    "Name a node with CPUs"))
        .toList();
  }

  /** With a device open where there is one, so that the survey tells how it pins. */
  private static HostSurvey surveyed(Backend backend) {
    if (backend.devices().isEmpty()) {
      return backend.pageSource().survey();
    }
    try (var _ = backend.open(backend.devices().getFirst())) {
      return backend.pageSource().survey();
    }
  }

  /**
   * Whether what was asked can be had.
   *
   * @return true also where nothing was asked
   */
  public boolean isFeasible() {
    return judgement.map(Judgement::feasible).orElse(true);
  }

  /**
   * The diagnosis as JSON.
   *
   * @return {@code host}, {@code nodes}, {@code limits}, {@code devices}, {@code verdict}, {@code
   *     remedies} and what else there is
   */
  public ObjectNode toJson() {
    ObjectNode root = Console.json().createObjectNode();
    putHost(root.putObject("host"));
    putNodes(root.putArray("nodes"));
    putLimits(root.putArray("limits"));
    putDevices(root.putArray("devices"));
    ArrayNode notes = root.putArray("findings");
    findings.forEach(
        one ->
            notes
                .addObject()
                .put("weight", one.weight().name().toLowerCase(Locale.ROOT))
                .put("about", one.about())
                .put("text", one.text())
                .put("remedy", one.remedy()));
    putVerdict(root.putObject("verdict"));
    put(root.putArray("remedies"), remedies);
    put(root.putArray("reservations"), reservations);
    return root;
  }

  private void putHost(ObjectNode host) {
    host.put("system", survey.system())
        .put("release", around.release())
        .put("machine", survey.machine())
        .put("container", around.container())
        .put("wsl", around.wsl())
        .put("seccomp", around.seccomp())
        .put("basePageBytes", survey.basePageBytes())
        .put("transparentPageBytes", survey.transparentPageBytes())
        .put("backend", backend)
        .put("driver", version)
        .put("kernelModule", around.driverVersion());
    ObjectNode features = host.putObject("features");
    features
        .put("populateCall", around.isAtLeast(5, 14))
        .put("weightedInterleave", around.isAtLeast(6, 9))
        .put(
            "hugePagesCountAsMemory",
            survey.mounts().stream()
                .anyMatch(mount -> mount.options().contains("memory_hugetlb_accounting")));
    ArrayNode pools = host.putArray("pools");
    for (HostSurvey.Pool pool : survey.pools()) {
      pools
          .addObject()
          .put("pageBytes", pool.pageBytes())
          .put("total", pool.total())
          .put("free", pool.free())
          .put("reserved", pool.reserved())
          .put("surplus", pool.surplus())
          .put("overcommit", pool.overcommit());
    }
    ArrayNode mounts = host.putArray("mounts");
    for (HostSurvey.Mount mount : survey.mounts()) {
      mounts
          .addObject()
          .put("point", mount.point())
          .put("type", mount.type())
          .put("options", String.join(",", mount.options()));
    }
    ObjectNode settings = host.putObject("settings");
    survey.texts().forEach(settings::put);
  }

  private void putNodes(ArrayNode nodes) {
    for (HostSurvey.Node node : survey.nodes()) {
      ObjectNode one = nodes.addObject();
      one.put("node", node.number())
          .put("allowed", survey.allowedNodes().contains(node.number()))
          .put("totalBytes", node.totalBytes())
          .put("freeBytes", node.freeBytes())
          .put("cacheBytes", node.cacheBytes())
          .put("cpus", node.cpus());
      ArrayNode pools = one.putArray("pools");
      for (HostSurvey.NodePool pool : node.pools()) {
        pools
            .addObject()
            .put("pageBytes", pool.pageBytes())
            .put("total", pool.total())
            .put("free", pool.free())
            .put("surplus", pool.surplus());
      }
      need.ifPresent(wanted -> one.put("ranksThatFit", ranksThatFit(node, wanted)));
    }
  }

  /** How many ranks' memory the node alone has free, by its own counters. */
  private long ranksThatFit(HostSurvey.Node node, Need wanted) {
    long page = Judgement.pageBytes(wanted.pages(), survey);
    long pagesPerRank = Math.ceilDiv(wanted.bytesPerRank(), page);
    boolean pooled = wanted.pages() instanceof PageKind.HugeTlb;
    long free =
        pooled
            ? node.pools().stream()
                .filter(pool -> pool.pageBytes() == page)
                .mapToLong(HostSurvey.NodePool::free)
                .sum()
            : (node.freeBytes() + node.cacheBytes()) / page;
    return survey.allowedNodes().contains(node.number()) ? free / pagesPerRank : 0;
  }

  private void putLimits(ArrayNode limits) {
    ObjectNode lock = limits.addObject().put("name", "RLIMIT_MEMLOCK").put("unit", "bytes");
    survey
        .lockLimitBytes()
        .ifPresentOrElse(most -> lock.put("most", most), () -> lock.putNull("most"));
    String mappings = survey.texts().getOrDefault("/proc/sys/vm/max_map_count", "");
    if (mappings.matches("[0-9]{1,18}")) {
      ObjectNode one = limits.addObject().put("name", "vm.max_map_count").put("unit", "mappings");
      one.put("most", Long.parseLong(mappings));
      survey.mappings().ifPresent(used -> one.put("used", used));
    }
    for (HostSurvey.Cap cap : survey.caps()) {
      limits
          .addObject()
          .put("name", cap.file())
          .put("unit", "bytes")
          .put("most", cap.limitBytes())
          .put("used", cap.usedBytes());
    }
  }

  private void putDevices(ArrayNode all) {
    for (DeviceInfo device : devices) {
      ObjectNode one =
          all.addObject()
              .put("ordinal", device.ordinal())
              .put("name", device.name())
              .put("uuid", device.uuid())
              .put("pciAddress", device.pciAddress())
              .put("totalBytes", device.totalBytes());
      device.numaNode().ifPresentOrElse(node -> one.put("node", node), () -> one.putNull("node"));
    }
  }

  private void putVerdict(ObjectNode verdict) {
    verdict.put("asked", judgement.isPresent());
    judgement.ifPresentOrElse(
        found -> putJudgement(verdict, found),
        () -> verdict.putNull("feasible").put("summary", "nothing was asked for"));
    measurement.ifPresent(
        measured -> {
          ObjectNode start = verdict.putObject("start");
          start
              .put("measuredBytes", measured.bytes())
              .put("measuredOn", measured.pages())
              .put("populateBytesPerSecond", Math.round(measured.populateBytesPerSecond()));
          measured
              .registerBytesPerSecond()
              .ifPresent(speed -> start.put("registerBytesPerSecond", Math.round(speed)));
          judgement
              .filter(Judgement::feasible)
              .map(found -> measured.startSeconds(found.totalBytes()))
              .ifPresent(
                  seconds ->
                      seconds.ifPresent(s -> start.put("seconds", Math.round(s * 100) / 100.0)));
          ArrayNode notes = start.putArray("notes");
          measured.notes().forEach(notes::add);
        });
  }

  private static void putJudgement(ObjectNode verdict, Judgement found) {
    verdict
        .put("feasible", found.feasible())
        .put("summary", found.summary())
        .put("totalBytes", found.totalBytes());
    ArrayNode places = verdict.putArray("places");
    for (Judgement.Place place : found.places()) {
      ObjectNode one =
          places
              .addObject()
              .put("numa", place.numa())
              .put("ranks", place.ranks())
              .put("neededBytes", place.neededBytes())
              .put("feasible", place.feasible());
      place.nodes().stream().sorted().forEach(one.withArray("nodes")::add);
    }
    ArrayNode shortfalls = verdict.putArray("shortfalls");
    for (Limit limit : found.limits()) {
      ObjectNode one =
          shortfalls
              .addObject()
              .put("name", limit.name())
              .put("unitBytes", limit.unitBytes())
              .put("needed", limit.needed())
              .put("available", limit.available())
              .put("missing", limit.missing());
      limit.node().ifPresent(node -> one.put("node", node));
    }
    ArrayNode refusals = verdict.putArray("refusals");
    found.refusals().forEach(refusal -> refusals.add(refusal.text()));
  }

  private static void put(ArrayNode array, List<Remedy> list) {
    for (Remedy remedy : list) {
      array
          .addObject()
          .put("kind", remedy.kind().name().toLowerCase(Locale.ROOT).replace('_', '-'))
          .put("text", remedy.text())
          .put("why", remedy.why());
    }
  }
}
