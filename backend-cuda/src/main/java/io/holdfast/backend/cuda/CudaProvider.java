package io.holdfast.backend.cuda;

import io.holdfast.Availability;
import io.holdfast.Availability.Unavailable;
import io.holdfast.Backend;
import io.holdfast.BackendKind;
import io.holdfast.BackendUnavailableException;
import io.holdfast.Transcript;
import io.holdfast.spi.BackendProvider;
import io.holdfast.spi.ProbeLog;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * NVIDIA devices through the CUDA driver. Found by {@link java.util.ServiceLoader}; making one
 * loads nothing. Safe from any thread.
 *
 * <p>The system property {@code holdfast.cuda.library} gives the absolute path of another driver
 * library than the system loader's.
 */
public final class CudaProvider implements BackendProvider {
  static final String ID = "cuda";

  /** Loads nothing. */
  public CudaProvider() {}

  @Override
  public int spiVersion() {
    return SPI_VERSION;
  }

  @Override
  public String id() {
    return ID;
  }

  @Override
  public BackendKind kind() {
    return BackendKind.HARDWARE;
  }

  @Override
  public Availability probe(ProbeLog log) {
    return probe(Surroundings.present(), log);
  }

  static Unavailable probe(Surroundings around, ProbeLog log) {
    return switch (CudaLoader.load(around, log)) {
      case CudaLoader.Outcome.Refused no -> no.why();
      case CudaLoader.Outcome.Started started -> withoutDriver(started);
    };
  }

  @Override
  public Backend open() {
    List<Transcript.Attempt> attempts = new ArrayList<>();
    Unavailable why =
        probe(
            Surroundings.present(),
            (what, answer) -> attempts.add(new Transcript.Attempt(what, answer)));
    throw new BackendUnavailableException(
        "backend cuda cannot be opened: " + why.reason(),
        why.remedy(),
        new Transcript(
            List.of(
                new Transcript.Entry(
                    ID,
                    Optional.of(BackendKind.HARDWARE),
                    CudaProvider.class.getModule().toString(),
                    attempts,
                    why)),
            Optional.empty()),
        why.cause().orElse(null));
  }

  private static Unavailable withoutDriver(CudaLoader.Outcome.Started started) {
    return Unavailable.because(
        "the CUDA driver "
            + CudaLoader.versionWords(started.version())
            + " is here, but this version of Holdfast cannot drive it yet",
        "Use a later version of Holdfast");
  }
}
