package io.holdfast.conformance;

import io.holdfast.backend.cpusim.SimMachine;
import io.holdfast.spi.BackendProvider;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The machine that a test of the kit chose; run through a launcher. */
public final class ChosenMachine extends SimConformance {
  private static volatile @Nullable Supplier<SimMachine> chosen;

  private static volatile boolean chosenDriver;

  /** Made by JUnit. */
  public ChosenMachine() {}

  /** A machine that discovery finds by its name. */
  static void choose(Supplier<SimMachine> machine) {
    chosen = machine;
    chosenDriver = false;
  }

  /** A machine behind another driver. */
  static void chooseDriver(Supplier<SimMachine> machine) {
    chosen = machine;
    chosenDriver = true;
  }

  /** The service is the plain machine; another driver on it is not what discovery finds. */
  @Override
  protected Optional<BackendProvider> provider(String id) {
    return chosenDriver ? Optional.empty() : super.provider(id);
  }

  @Override
  SimMachine boot() {
    return Objects.requireNonNull(chosen, "no machine was chosen").get();
  }
}
