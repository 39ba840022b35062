package io.holdfast.bench.doctor;

import io.holdfast.bench.doctor.Remedies.Remedy;
import io.holdfast.bench.tool.ByteCount;
import io.holdfast.device.DeviceInfo;
import io.holdfast.host.HostSurvey;
import java.util.Locale;
import java.util.stream.Collectors;

/** A diagnosis for people. */
public final class TextReport {
  private final Diagnosis found;
  private final StringBuilder text = new StringBuilder();

  private TextReport(Diagnosis found) {
    this.found = found;
  }

  /**
   * Writes it.
   *
   * @param diagnosis what was found
   * @return lines, each ended
   */
  public static String of(Diagnosis diagnosis) {
    TextReport report = new TextReport(diagnosis);
    report.host();
    report.nodes();
    report.limits();
    report.devices();
    report.findings();
    report.verdict();
    return report.text.toString();
  }

  @SuppressWarnings("AnnotateFormatMethod") // the annotation is of a library that we do not have
  private void line(String form, Object... values) {
    text.append(String.format(Locale.ROOT, form, values)).append('\n');
  }

  private void host() {
    HostSurvey survey = found.survey();
    Surroundings around = found.around();
    line("host: %s %s, %s", survey.system(), around.release(), survey.machine());
    line(
        "  pages of %s; transparent %s, defrag %s",
        Texts.pages(survey.basePageBytes()),
        setting("/sys/kernel/mm/transparent_hugepage/enabled"),
        setting("/sys/kernel/mm/transparent_hugepage/defrag"));
    if (!around.container().isEmpty() || around.wsl()) {
      line("  runs in: %s", around.wsl() ? "WSL" : "a container, " + around.container());
    }
    line(
        "  seccomp %s; driver %s%s",
        around.seccomp(),
        found.version(),
        around.driverVersion().isEmpty() ? "" : ", kernel module " + around.driverVersion());
    for (HostSurvey.Pool pool : survey.pools()) {
      line(
          "  pool of %s: %,d pages, %,d free, %,d reserved, %,d surplus, %,d by overcommit",
          Texts.pages(pool.pageBytes()),
          pool.total(),
          pool.free(),
          pool.reserved(),
          pool.surplus(),
          pool.overcommit());
    }
  }

  private String setting(String path) {
    String value = found.survey().texts().getOrDefault(path, "");
    int open = value.indexOf('[');
    int close = value.indexOf(']');
    return open >= 0 && close > open ? value.substring(open + 1, close) : "absent";
  }

  private void nodes() {
    for (HostSurvey.Node node : found.survey().nodes()) {
      String pools =
          node.pools().stream()
              .map(
                  pool ->
                      String.format(
                          Locale.ROOT,
                          "%s: %,d of %,d free",
                          Texts.pages(pool.pageBytes()),
                          pool.free(),
                          pool.total()))
              .collect(Collectors.joining("; "));
      line(
          "node %d: %s, %s free%s%s%s",
          node.number(),
          ByteCount.describe(node.totalBytes()),
          ByteCount.describe(node.freeBytes()),
          node.cpus().isEmpty() ? ", no CPUs" : ", CPUs " + node.cpus(),
          found.survey().allowedNodes().contains(node.number()) ? "" : ", NOT ALLOWED here",
          pools.isEmpty() ? "" : "; " + pools);
    }
  }

  private void limits() {
    line(
        "locked memory: %s",
        found.survey().lockLimitBytes().isPresent()
            ? ByteCount.describe(found.survey().lockLimitBytes().getAsLong())
            : "no limit");
    for (HostSurvey.Cap cap : found.survey().caps()) {
      line(
          "limit %s: %s, %s used",
          cap.file(), ByteCount.describe(cap.limitBytes()), ByteCount.describe(cap.usedBytes()));
    }
  }

  private void devices() {
    if (found.devices().isEmpty()) {
      line("devices: none that the driver shows");
    }
    for (DeviceInfo device : found.devices()) {
      line(
          "device %d: %s, %s, %s",
          device.ordinal(),
          device.name(),
          ByteCount.describe(device.totalBytes()),
          device.numaNode().isPresent()
              ? "node " + device.numaNode().getAsInt()
              : "its node is not known");
    }
  }

  private void findings() {
    for (Finding finding : found.findings()) {
      line("%s: %s", finding.weight().name().toLowerCase(Locale.ROOT), finding.text());
      if (!finding.remedy().isEmpty()) {
        line("    %s", finding.remedy());
      }
    }
  }

  private void verdict() {
    found
        .judgement()
        .ifPresent(
            judgement -> {
              line("verdict: %s", judgement.summary());
              for (Judgement.Place place : judgement.places()) {
                line(
                    "  %s: %d %s, %s: %s",
                    place.numa(),
                    place.ranks(),
                    place.ranks() == 1 ? "rank" : "ranks",
                    ByteCount.describe(place.neededBytes()),
                    place.feasible() ? "feasible" : "infeasible");
              }
            });
    found.measurement().ifPresent(this::start);
    if (!found.remedies().isEmpty()) {
      line("to change:");
      found.remedies().forEach(this::remedy);
    } else if (!found.reservations().isEmpty()) {
      line("to keep it so at every start:");
      found.reservations().forEach(this::remedy);
    }
  }

  private void start(Measurement measured) {
    if (measured.bytes() > 0) {
      line(
          "speed here: %s populated at %s each second%s",
          ByteCount.describe(measured.bytes()),
          ByteCount.describe((long) measured.populateBytesPerSecond()),
          measured.registerBytesPerSecond().isPresent()
              ? ", registered at "
                  + ByteCount.describe((long) measured.registerBytesPerSecond().getAsDouble())
              : "");
    }
    measured.notes().forEach(note -> line("  %s", note));
    found
        .judgement()
        .filter(Judgement::feasible)
        .ifPresent(
            judgement ->
                measured
                    .startSeconds(judgement.totalBytes())
                    .ifPresent(
                        seconds ->
                            line("  all ranks together start in about %.1f seconds", seconds)));
  }

  private void remedy(Remedy remedy) {
    line(
        "  [%s] %s",
        remedy.kind().name().toLowerCase(Locale.ROOT).replace('_', ' '),
        remedy.text().replace("\n", "\n      "));
  }
}
