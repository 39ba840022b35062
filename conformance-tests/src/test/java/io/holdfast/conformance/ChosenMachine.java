package io.holdfast.conformance;

import io.holdfast.backend.cpusim.SimMachine;
import java.util.Objects;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The machine that a test of the kit chose; run through a launcher. */
public final class ChosenMachine extends SimConformance {
  private static volatile @Nullable Supplier<SimMachine> chosen;

  /** Made by JUnit. */
  public ChosenMachine() {}

  static void choose(Supplier<SimMachine> machine) {
    chosen = machine;
  }

  @Override
  SimMachine boot() {
    return Objects.requireNonNull(chosen, "no machine was chosen").get();
  }
}
