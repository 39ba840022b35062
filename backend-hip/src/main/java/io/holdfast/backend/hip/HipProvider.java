package io.holdfast.backend.hip;

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
 * AMD devices through the HIP runtime. Found by {@link java.util.ServiceLoader}; making one loads
 * nothing. Safe from any thread.
 *
 * <p>The system property {@code holdfast.hip.library} gives the absolute path of another runtime
 * library than the system loader's.
 */
public final class HipProvider implements BackendProvider {
  static final String ID = "hip";

  /** Loads nothing. */
  public HipProvider() {}

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
    return switch (HipLoader.load(around, log)) {
      case HipLoader.Outcome.Refused no -> no.why();
      case HipLoader.Outcome.Started started -> withoutDriver(started);
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
        "backend hip cannot be opened: " + why.reason(),
        why.remedy(),
        new Transcript(
            List.of(
                new Transcript.Entry(
                    ID,
                    Optional.of(BackendKind.HARDWARE),
                    HipProvider.class.getModule().toString(),
                    attempts,
                    why)),
            Optional.empty()),
        why.cause().orElse(null));
  }

  /** The runtime and its devices are here; what drives them is not part of this version. */
  private static Unavailable withoutDriver(HipLoader.Outcome.Started started) {
    return Unavailable.because(
        "the HIP runtime "
            + HipLoader.versionWords(started.version())
            + " is here and sees "
            + started.devices()
            + " devices, but this version of Holdfast has no driver for it",
        "Use a later version of Holdfast");
  }
}
