package io.holdfast.conformance;

import io.holdfast.Backend;
import io.holdfast.backend.cpusim.SimMachine;
import io.holdfast.conformance.tap.Tap;
import io.holdfast.spi.BackendProvider;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The mutant that a test of the kit chose; run through a launcher. */
public final class BrokenBackend extends SimConformance {
  private static volatile @Nullable Mutant chosen;

  /** Made by JUnit. */
  public BrokenBackend() {}

  static void choose(Mutant mutant) {
    chosen = mutant;
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
  Backend openBehind(Tap tap) {
    return mutant().opening().apply(fresh(), tap);
  }
}
