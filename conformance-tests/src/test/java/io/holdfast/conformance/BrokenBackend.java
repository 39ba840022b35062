package io.holdfast.conformance;

import io.holdfast.Backend;
import io.holdfast.backend.cpusim.SimMachine;
import io.holdfast.conformance.tap.Tap;
import io.holdfast.spi.BackendProvider;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The mutant that a test of the kit chose; run through a launcher. */
public final class BrokenBackend extends SimConformance {
  private static volatile @Nullable Mutant chosen;
  private static volatile Duration patience = Duration.ZERO;

  /** Made by JUnit. */
  public BrokenBackend() {}

  static void choose(Mutant mutant, Duration waiting) {
    chosen = mutant;
    patience = waiting;
  }

  private static Mutant mutant() {
    return Objects.requireNonNull(chosen, "no mutant was chosen");
  }

  @Override
  SimMachine boot() {
    return mutant().boot().get();
  }

  @Override
  protected Backend open() {
    return mutant().opening().apply(fresh(), new Tap());
  }

  @Override
  protected Optional<BackendProvider> provider(String id) {
    return super.provider(id).map(mutant().provider());
  }

  @Override
  Duration patience() {
    return patience;
  }

  @Override
  Backend openBehind(Tap tap) {
    return mutant().opening().apply(fresh(), tap);
  }
}
