package io.holdfast.backend.hip;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.holdfast.Backend;
import io.holdfast.Device;
import io.holdfast.backend.cpusim.driver.Personalities;
import io.holdfast.conformance.Engine;
import io.holdfast.conformance.engine.HipEngine;
import io.holdfast.spi.BackendProvider;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;

/** Backends over simulated runtimes for a kit that opens many, and what became of each. */
final class SimulatedVersions {
  private final List<SimulatedRuntime> opened = new CopyOnWriteArrayList<>();

  /** A new runtime of that version, and the whole backend over it. */
  Backend open(String version) {
    try {
      Path folder = Files.createTempDirectory("holdfast-hip-");
      SimulatedRuntime runtime = new SimulatedRuntime(folder, Personalities.named(version), 2);
      opened.add(runtime);
      folder.toFile().deleteOnExit(); // the last one named goes first
      runtime.file().toFile().deleteOnExit();
      return runtime.backendWithoutKernels();
    } catch (IOException unwritable) {
      throw new UncheckedIOException(unwritable);
    }
  }

  /** Discovery's view of the runtime that was opened last. */
  Optional<BackendProvider> provider() {
    return opened.isEmpty() ? Optional.empty() : Optional.of(opened.getLast().provider());
  }

  /** An engine beside the runtime that was opened last, by raw calls to the same library. */
  Optional<Engine> engine(Device device) {
    return Optional.of(new HipEngine(opened.getLast().symbols(), device.info().ordinal()));
  }

  /** Nothing is left in any of them. */
  void close() {
    for (SimulatedRuntime runtime : opened) {
      String audit = runtime.audit().toString();
      runtime.close();
      assertEquals("nothing leaked", audit);
    }
    opened.clear();
  }
}
