package io.holdfast.backend.hip;

import io.holdfast.Availability;
import io.holdfast.Backend;
import io.holdfast.BackendKind;
import io.holdfast.BackendUnavailableException;
import io.holdfast.Transcript;
import io.holdfast.spi.BackendProvider;
import io.holdfast.spi.ProbeLog;
import io.holdfast.spi.StandardBackend;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * AMD devices through the HIP runtime. Found by {@link java.util.ServiceLoader}; making one loads
 * nothing. Safe from any thread.
 *
 * <p>The system property {@code holdfast.hip.library} gives the absolute path of another runtime
 * library than the system loader's. {@code holdfast.hip.kernels} is {@code on} or {@code off}
 * (which is the default): whether copies by the device's own cores are compiled.
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

  static Availability probe(Surroundings around, ProbeLog log) {
    return switch (HipLoader.load(around, log)) {
      case HipLoader.Outcome.Refused no -> no.why();
      case HipLoader.Outcome.Started started ->
          StandardBackend.availability(
              driver(started), "Run rocminfo, and look at HIP_VISIBLE_DEVICES");
    };
  }

  @Override
  public Backend open() {
    return StandardBackend.over(ID, openDriver(Surroundings.present()));
  }

  /**
   * The driver alone.
   *
   * @throws BackendUnavailableException with the words of the probe where that says no
   */
  static HipDriver openDriver(Surroundings around) {
    List<Transcript.Attempt> attempts = new ArrayList<>();
    HipLoader.Outcome outcome =
        HipLoader.load(
            around, (what, answer) -> attempts.add(new Transcript.Attempt(what, answer)));
    return switch (outcome) {
      case HipLoader.Outcome.Started started -> driver(started);
      case HipLoader.Outcome.Refused no ->
          throw new BackendUnavailableException(
              "backend hip cannot be opened: " + no.why().reason(),
              no.why().remedy(),
              new Transcript(
                  List.of(
                      new Transcript.Entry(
                          ID,
                          Optional.of(BackendKind.HARDWARE),
                          HipProvider.class.getModule().toString(),
                          attempts,
                          no.why())),
                  Optional.empty()),
              no.why().cause().orElse(null));
    };
  }

  private static HipDriver driver(HipLoader.Outcome.Started started) {
    return new HipDriver(started.bindings(), started.version(), started.kernels());
  }
}
