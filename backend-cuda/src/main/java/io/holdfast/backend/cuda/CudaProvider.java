package io.holdfast.backend.cuda;

import io.holdfast.Availability;
import io.holdfast.Backend;
import io.holdfast.BackendKind;
import io.holdfast.BackendUnavailableException;
import io.holdfast.Transcript;
import io.holdfast.spi.BackendProvider;
import io.holdfast.spi.HostKernels;
import io.holdfast.spi.ProbeLog;
import io.holdfast.spi.StandardBackend;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * NVIDIA devices through the CUDA driver. Found by {@link java.util.ServiceLoader}; making one
 * loads nothing. Safe from any thread.
 *
 * <p>The system property {@code holdfast.cuda.library} gives the absolute path of another driver
 * library than the system loader's. {@code holdfast.cuda.binding} is {@code ffm}, {@code jcuda} or
 * {@code auto} (which is {@code ffm}).
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

  static Availability probe(Surroundings around, ProbeLog log) {
    return switch (CudaLoader.load(around, log)) {
      case CudaLoader.Outcome.Refused no -> no.why();
      case CudaLoader.Outcome.Started started ->
          StandardBackend.availability(
              driver(started), "Run nvidia-smi, and look at CUDA_VISIBLE_DEVICES");
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
  static CudaDriver openDriver(Surroundings around) {
    List<Transcript.Attempt> attempts = new ArrayList<>();
    CudaLoader.Outcome outcome =
        CudaLoader.load(
            around, (what, answer) -> attempts.add(new Transcript.Attempt(what, answer)));
    return switch (outcome) {
      case CudaLoader.Outcome.Started started -> driver(started);
      case CudaLoader.Outcome.Refused no ->
          throw new BackendUnavailableException(
              "backend cuda cannot be opened: " + no.why().reason(),
              no.why().remedy(),
              new Transcript(
                  List.of(
                      new Transcript.Entry(
                          ID,
                          Optional.of(BackendKind.HARDWARE),
                          CudaProvider.class.getModule().toString(),
                          attempts,
                          no.why())),
                  Optional.empty()),
              no.why().cause().orElse(null));
    };
  }

  private static CudaDriver driver(CudaLoader.Outcome.Started started) {
    return new CudaDriver(
        started.calls(), started.version(), started.module(), HostKernels.system().basePageBytes());
  }
}
