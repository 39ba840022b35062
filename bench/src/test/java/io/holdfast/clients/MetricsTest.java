package io.holdfast.clients;

import static io.holdfast.device.Order.after;
import static io.holdfast.device.Order.unordered;
import static io.holdfast.layout.Bytes.mib;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.Backend;
import io.holdfast.Backends;
import io.holdfast.Device;
import io.holdfast.backend.cpusim.LeakPolicy;
import io.holdfast.backend.cpusim.SimMachine;
import io.holdfast.backend.cpusim.driver.FaultScript;
import io.holdfast.bench.tool.Console;
import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.CopyOptions;
import io.holdfast.copy.CopyPath;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.device.DeviceStream;
import io.holdfast.device.ExtensibleRegion;
import io.holdfast.device.ExtensibleRequest;
import io.holdfast.event.Activity;
import io.holdfast.event.Statistics;
import io.holdfast.event.Statistics.Tally;
import io.holdfast.host.HostRequest;
import io.holdfast.layout.BlockShape;
import io.holdfast.micrometer.HoldfastMetrics;
import io.holdfast.pin.PinException;
import io.holdfast.pin.PinRequest;
import io.holdfast.pool.HostPool;
import io.holdfast.pool.PoolOptions;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.FunctionTimer;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.lang.ref.WeakReference;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** What an operator's dashboard sees of a backend. */
final class MetricsTest {
  private static final BlockShape SHAPE = BlockShape.of(2, 4096);
  private static final Path ROOT = Path.of("").toAbsolutePath().getParent();

  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private final Set<Meter> seen = new HashSet<>();

  private static SimMachine machine() {
    SimMachine machine =
        SimMachine.builder()
            .personality("cuda-580")
            .devices(2, 1L << 30)
            .leaks(LeakPolicy.IGNORE)
            .build();
    machine
        .faults()
        .add(
            FaultScript.parse(
                """
                host-register   2 fail 2
                host-unregister 1 fail 999
                mem-alloc       2 delay 12ms
                """));
    return machine;
  }

  /** Some of everything on the first device of two; the pool stays open. */
  private static HostPool work(Device device) {
    DeviceBlocks blocks =
        DeviceBlocks.of(
            device.memory().allocate(16 * SHAPE.bytes()).segment(), SHAPE.blockMajor(16));
    var _ = device.memory().allocate(4096); // the slow one
    PinRequest pin = PinRequest.strict().sliceBytes(mib(1)).onFailure(PinRequest.OnFailure.HALVE);
    HostPool first =
        HostPool.open(
            device,
            blocks,
            HostRequest.ofBytes(mib(4)),
            PoolOptions.defaults().pin(pin).copy(CopyOptions.auto().path(CopyPath.LOOP)));
    first.store(BlockCopies.device(1, 3).host(1, 5), unordered()).await();
    first.load(BlockCopies.device(2).host(1), unordered()).await();
    assertThrows(PinException.class, first::close); // a range stays in quarantine
    try (ExtensibleRegion region =
            device.memory().reserve(ExtensibleRequest.of(SHAPE.layerMajor(4096)));
        DeviceStream used = device.newStream()) {
      region.commit(64);
      region.releasePhysical(after(used));
      region.recommit();
    }
    HostPool second = HostPool.open(device, blocks, HostRequest.ofBytes(mib(2)));
    second.store(BlockCopies.device(1).host(1), unordered()).await();
    return second;
  }

  @Test
  void every_meter_says_what_the_statistics_say() {
    try (Backend backend = machine().intoBackend();
        Device device = backend.open(0);
        HoldfastMetrics metrics = new HoldfastMetrics(backend, Tags.of("rank", "3"))) {
      metrics.bindTo(registry);
      assertEquals(
          0, registry.getMeters().stream().mapToDouble(MetricsTest::sum).sum() - open(backend));
      HostPool pool = work(device);
      Statistics all = backend.statistics();

      gauge("holdfast.memory.mapped", pool.region().mappedBytes());
      gauge("holdfast.regions.open", 1);
      gauge("holdfast.resources.open", backend.stillOpen().size());
      for (int ordinal : new int[] {0, 1}) {
        String number = String.valueOf(ordinal);
        Statistics on = all.onDevice(ordinal);
        gauge(
            "holdfast.memory.pinned",
            ordinal == 0 ? pool.pinned().registeredBytes() : 0,
            "device",
            number);
        gauge(
            "holdfast.memory.quarantined",
            ordinal == 0 ? device.pinner().quarantine().getFirst().registeredBytes() : 0,
            "device",
            number);
        counter("holdfast.registered", on.of(Activity.REGISTER).bytes(), "device", number);
        timer("holdfast.register", on.of(Activity.REGISTER), "device", number);
        timer("holdfast.unregister", on.of(Activity.UNREGISTER), "device", number);
        timer("holdfast.pause", on.of(Activity.PAUSE), "device", number);
        timer("holdfast.pins.ready", on.of(Activity.READY), "device", number);
        for (Activity change :
            List.of(
                Activity.COMMIT,
                Activity.SEAL,
                Activity.CONSOLIDATE,
                Activity.EXPORT,
                Activity.SLEEP,
                Activity.WAKE)) {
          timer("holdfast.extensible", on.of(change), "device", number, "change", lower(change));
        }
        for (Activity way : List.of(Activity.STORE, Activity.LOAD)) {
          for (CopyPath path : CopyPath.values()) {
            Tally copies = on.where(one -> one.path().filter(path::equals).isPresent()).of(way);
            String[] tags = {"device", number, "direction", lower(way), "path", lower(path)};
            counter("holdfast.copied", copies.bytes(), tags);
            timer("holdfast.copy", copies, tags);
          }
        }
      }
      counter("holdfast.populated", all.of(Activity.POPULATE).bytes());
      counter("holdfast.fallbacks", all.of(Activity.FALLBACK).count());
      timer("holdfast.map", all.of(Activity.MAP));
      timer("holdfast.unmap", all.of(Activity.UNMAP));
      timer("holdfast.populate", all.of(Activity.POPULATE));
      timer("holdfast.region.ready", all.where(one -> one.device().isEmpty()).of(Activity.READY));
      timer("holdfast.native.slow", all.of(Activity.NATIVE_CALL));
      for (Activity activity : Activity.values()) {
        counter("holdfast.failures", all.of(activity).failures(), "activity", lower(activity));
      }

      assertEquals(new HashSet<>(registry.getMeters()), seen, "meters that nobody compared");
      assertEquals(2.0 * SHAPE.bytes(), copied("store", "loop"));
      assertEquals(1.0 * SHAPE.bytes(), copied("load", "loop"));
      assertEquals(1, registry.get("holdfast.fallbacks").functionCounter().count());
      assertTrue(registry.get("holdfast.native.slow").functionTimer().count() >= 1);
      assertEquals(
          List.of(),
          registry.getMeters().stream()
              .filter(meter -> !"3".equals(meter.getId().getTag("rank")))
              .toList());
    }
  }

  private double copied(String direction, String path) {
    return registry
        .get("holdfast.copied")
        .tags("device", "0", "direction", direction, "path", path)
        .functionCounter()
        .count();
  }

  private static int open(Backend backend) {
    return backend.stillOpen().size();
  }

  private static double sum(Meter meter) {
    double sum = 0;
    for (var measurement : meter.measure()) {
      sum += measurement.getValue();
    }
    return sum;
  }

  private static String lower(Enum<?> constant) {
    return constant.name().toLowerCase(Locale.ROOT);
  }

  private void gauge(String name, long value, String... tags) {
    Gauge gauge = registry.get(name).tags(tags).gauge();
    assertEquals((double) value, gauge.value(), gauge.getId().toString());
    seen.add(gauge);
  }

  private void counter(String name, long value, String... tags) {
    FunctionCounter counter = registry.get(name).tags(tags).functionCounter();
    assertEquals((double) value, counter.count(), counter.getId().toString());
    seen.add(counter);
  }

  private void timer(String name, Tally tally, String... tags) {
    FunctionTimer timer = registry.get(name).tags(tags).functionTimer();
    assertEquals((double) tally.count(), timer.count(), timer.getId().toString());
    assertEquals(
        (double) tally.nanos(), timer.totalTime(TimeUnit.NANOSECONDS), 1, timer.getId().toString());
    seen.add(timer);
  }

  @Test
  void closing_takes_every_meter_out_of_every_registry() {
    SimpleMeterRegistry other = new SimpleMeterRegistry();
    registry.counter("engine.own").increment();
    Backend backend = Backends.select("cpu-sim");
    HoldfastMetrics metrics = new HoldfastMetrics(backend);
    metrics.bindTo(registry);
    metrics.bindTo(other);
    assertTrue(other.getMeters().size() > 50);
    backend.close();
    assertEquals(
        1,
        registry.get("holdfast.failures").functionCounters().stream()
            .map(one -> one.getId().getTag("backend"))
            .distinct()
            .count(),
        "a closed backend still has its sums");

    metrics.close();
    metrics.close();

    assertEquals(List.of(), other.getMeters());
    assertEquals(
        List.of("engine.own"),
        registry.getMeters().stream().map(meter -> meter.getId().getName()).toList());
    assertThrows(IllegalStateException.class, () -> metrics.bindTo(registry));
  }

  @Test
  void neither_meters_nor_closed_metrics_keep_a_backend_alive() {
    HoldfastMetrics closed;
    WeakReference<Backend> gone;
    try (Backend backend = Backends.select("cpu-sim")) {
      closed = new HoldfastMetrics(backend);
      closed.bindTo(registry);
      new HoldfastMetrics(backend, Tags.of("left", "open")).bindTo(registry);
      gone = new WeakReference<>(backend);
      closed.close();
    }
    for (int i = 0; i < 10 && gone.get() != null; i++) {
      System.gc();
    }
    assertNull(gone.get(), "the backend is still reachable");
    assertFalse(registry.getMeters().isEmpty(), "meters that nobody took out");
    assertThrows(IllegalStateException.class, () -> closed.bindTo(registry));
  }

  @Test
  void the_dashboard_asks_for_nothing_that_is_not_exposed() throws IOException {
    Set<String> exposed = new TreeSet<>();
    PrometheusMeterRegistry prometheus = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    try (Backend backend = Backends.select("cpu-sim");
        HoldfastMetrics metrics = new HoldfastMetrics(backend)) {
      metrics.bindTo(prometheus);
      Matcher line = Pattern.compile("(?m)^(holdfast_\\w+)\\{").matcher(prometheus.scrape());
      while (line.find()) {
        exposed.add(line.group(1));
      }
    }
    JsonNode dashboard =
        Console.json().readTree(Files.readString(ROOT.resolve("docs/grafana/holdfast.json")));
    Set<String> asked = new TreeSet<>();
    int expressions = 0;
    for (JsonNode expression : dashboard.findValues("expr")) {
      expressions++;
      addNames(expression.asText(), asked);
    }
    for (JsonNode variable : dashboard.path("templating").path("list")) {
      addNames(variable.path("definition").asText(), asked);
    }

    assertTrue(expressions > 20, "only " + expressions + " expressions were found");
    asked.removeAll(exposed);
    assertEquals(Set.of(), asked, "the dashboard asks for what is not exposed: " + exposed);
    assertTrue(exposed.contains("holdfast_copied_bytes_total"), exposed.toString());
    assertTrue(exposed.contains("holdfast_copy_seconds_sum"), exposed.toString());
  }

  private static void addNames(String expression, Set<String> names) {
    Matcher name = Pattern.compile("\\bholdfast_\\w+").matcher(expression);
    while (name.find()) {
      names.add(name.group());
    }
  }

  @Test
  void every_panel_has_a_title_a_unit_and_an_own_number() throws IOException {
    JsonNode panels =
        Console.json()
            .readTree(Files.readString(ROOT.resolve("docs/grafana/holdfast.json")))
            .path("panels");
    List<Integer> numbers = new ArrayList<>();
    int charts = 0;
    for (JsonNode panel : panels) {
      numbers.add(panel.path("id").asInt());
      assertFalse(panel.path("title").asText().isBlank(), panel.toString());
      if (!panel.path("type").asText().equals("row")) {
        charts++;
        assertFalse(panel.path("targets").isEmpty(), panel.path("title").asText());
        assertFalse(
            panel.path("fieldConfig").path("defaults").path("unit").asText().isBlank(),
            panel.path("title").asText());
      }
    }
    assertTrue(charts >= 15, "only " + charts + " panels");
    assertEquals(numbers.size(), new HashSet<>(numbers).size(), "two panels have one number");
  }

  @Test
  void every_meter_and_every_event_is_in_the_documentation() throws IOException {
    String page = Files.readString(ROOT.resolve("docs/observability.md"));
    try (Backend backend = Backends.select("cpu-sim");
        HoldfastMetrics metrics = new HoldfastMetrics(backend)) {
      metrics.bindTo(registry);
      Set<String> missing = new TreeSet<>();
      for (Meter meter : registry.getMeters()) {
        assertNotNull(meter.getId().getDescription(), meter.getId().getName());
        if (!page.contains("`" + meter.getId().getName() + "`")) {
          missing.add(meter.getId().getName());
        }
      }
      assertEquals(Set.of(), missing, "meters that docs/observability.md does not name");
    }
    for (Activity activity : Activity.values()) {
      assertTrue(
          page.contains("`" + activity.eventName().replace("io.holdfast.", "") + "`"),
          activity.name());
    }
  }
}
