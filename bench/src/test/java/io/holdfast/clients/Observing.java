package io.holdfast.clients;

import io.holdfast.Backend;
import io.holdfast.copy.CopyPath;
import io.holdfast.event.Activity;
import io.holdfast.event.Statistics;
import io.holdfast.event.Statistics.Series;
import io.holdfast.micrometer.HoldfastMetrics;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalInt;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordingStream;

/** The examples of docs/observability.md: compiled with every build. */
final class Observing {
  private Observing() {}

  static double storedBySecond(Backend backend, Runnable engine) {
    // guide: statistics
    Statistics before = backend.statistics();
    engine.run();
    Statistics since = backend.statistics().since(before);
    Statistics.Tally stores = since.of(Activity.STORE);
    double bytesPerSecond = stores.bytes() * 1e9 / stores.nanos(); // of batches that may overlap
    long byKernel =
        since
            .of(new Series(Activity.STORE, OptionalInt.of(0), Optional.of(CopyPath.KERNEL)))
            .bytes();
    // guide: end
    return bytesPerSecond + byKernel;
  }

  static void record(Runnable engine, Path file) throws IOException {
    // guide: recording
    try (Recording recording = new Recording()) {
      recording.start();
      engine.run();
      recording.stop();
      recording.dump(file);
    }
    // guide: end
  }

  static RecordingStream watch() {
    // guide: stream
    RecordingStream events = new RecordingStream();
    events.onEvent(
        Activity.QUARANTINE.eventName(),
        event -> System.err.println(event.getLong("bytes") + " bytes stay pinned: " + event));
    events.startAsync(); // close it when the engine ends
    // guide: end
    return events;
  }

  static String scrape(Backend backend) {
    // guide: metrics
    PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    try (HoldfastMetrics metrics = new HoldfastMetrics(backend)) { // as long as the backend
      metrics.bindTo(registry);
      return registry.scrape();
    }
    // guide: end
  }
}
