package io.holdfast.backend.cuda;

import io.holdfast.Backend;
import io.holdfast.Device;
import io.holdfast.conformance.Engine;
import io.holdfast.conformance.StreamsConformance;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.io.TempDir;

/** Beside an engine that makes its calls to the same library: contexts, streams and captures. */
final class SimulatedLibcudaStreamsTest extends StreamsConformance {
  @TempDir static Path folder;
  private static final JudgedLibcuda LIBRARY = new JudgedLibcuda();

  @Override
  protected Backend open() {
    return LIBRARY.open(folder);
  }

  @Override
  protected Optional<Engine> engine(Device device) {
    return LIBRARY.engine(device);
  }

  @AfterAll
  static void nobodyAnswersAnyMore() {
    LIBRARY.close();
  }
}
