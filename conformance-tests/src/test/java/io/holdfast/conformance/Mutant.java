package io.holdfast.conformance;

import io.holdfast.Backend;
import io.holdfast.BackendKind;
import io.holdfast.backend.cpusim.LeakPolicy;
import io.holdfast.backend.cpusim.SimMachine;
import io.holdfast.backend.cpusim.SimProfile;
import io.holdfast.backend.cpusim.driver.Personalities;
import io.holdfast.backend.cpusim.driver.Personality;
import io.holdfast.conformance.tap.Tap;
import io.holdfast.copy.CopyEngine;
import io.holdfast.host.PageSource;
import io.holdfast.pin.Pinner;
import io.holdfast.spi.BackendProvider;
import io.holdfast.spi.Interposer;
import io.holdfast.spi.StandardBackend;
import java.util.Map;
import java.util.Set;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;

/**
 * A backend that is broken on purpose.
 *
 * @param name what it does wrong
 * @param area what it is about
 * @param rules which must all catch it
 * @param boot the machine under it
 * @param opening how it is opened, given the machine and the kit's tap
 * @param provider what discovery finds, given the true one
 */
record Mutant(
    String name,
    String area,
    Set<Rule> rules,
    Supplier<SimMachine> boot,
    BiFunction<SimMachine, Tap, Backend> opening,
    UnaryOperator<BackendProvider> provider) {

  Mutant(
      String name,
      String area,
      Set<Rule> rules,
      Supplier<SimMachine> boot,
      BiFunction<SimMachine, Tap, Backend> opening) {
    this(name, area, rules, boot, opening, UnaryOperator.identity());
  }

  /** What a mutant leaks is what the kit must see; the simulator need not say so, too. */
  static SimMachine plain() {
    return SimMachine.builder().leaks(LeakPolicy.IGNORE).build();
  }

  /** Eight devices on two nodes, with huge pages. */
  static SimMachine twoNodes() {
    return SimMachine.builder().profile(SimProfile.named("h200")).leaks(LeakPolicy.IGNORE).build();
  }

  /** Devices see host memory elsewhere than the host does, and there are no batches. */
  static SimMachine withAliases() {
    return behind(Personalities.named("hip-5.2"));
  }

  /** Device memory grows in place, and is not given across hosts. */
  static SimMachine withoutFabric() {
    return behind(Personalities.named("hip-7.2"));
  }

  /** Device memory is given across hosts. */
  static SimMachine withFabric() {
    return behind(Personalities.named("cuda-580", Map.of("vmm.fabric-code", "0")));
  }

  private static SimMachine behind(Personality driver) {
    return SimMachine.builder().personality(driver).leaks(LeakPolicy.IGNORE).build();
  }

  /** What it would be without its fault. */
  Mutant healthy() {
    return new Mutant(
        name + ", healed",
        area,
        rules,
        boot,
        (machine, tap) -> StandardBackend.interposing(tap, machine::intoBackend));
  }

  /** The same on another machine. */
  Mutant on(Supplier<SimMachine> machine) {
    return new Mutant(name, area, rules, machine, opening, provider);
  }

  /** A driver that is wrong: the mutation lies below the kit's tap. */
  static Mutant driver(
      String name, String area, Set<Rule> rules, Function<SimMachine, Interposer> wrong) {
    return new Mutant(
        name,
        area,
        rules,
        Mutant::plain,
        (machine, tap) ->
            StandardBackend.interposing(
                tap,
                () -> StandardBackend.interposing(wrong.apply(machine), machine::intoBackend)));
  }

  /** Policy that is wrong: the mutation lies above the kit's tap, as policy itself does. */
  static Mutant policy(String name, String area, Set<Rule> rules, Supplier<Interposer> wrong) {
    return new Mutant(
        name,
        area,
        rules,
        Mutant::plain,
        (machine, tap) ->
            StandardBackend.interposing(
                wrong.get(), () -> StandardBackend.interposing(tap, machine::intoBackend)));
  }

  /** A page source that is wrong. */
  static Mutant pages(String name, String area, Set<Rule> rules, UnaryOperator<PageSource> wrong) {
    return parts(name, area, rules, builder -> builder.pageSource(wrong));
  }

  /** A pinner that is wrong. */
  static Mutant pinner(String name, String area, Set<Rule> rules, UnaryOperator<Pinner> wrong) {
    return parts(name, area, rules, builder -> builder.pinner(wrong));
  }

  /** A copy engine that is wrong. */
  static Mutant copies(String name, String area, Set<Rule> rules, UnaryOperator<CopyEngine> wrong) {
    return parts(name, area, rules, builder -> builder.copyEngine(wrong));
  }

  /** A backend whose answers to engines are wrong. */
  static Mutant backend(String name, String area, Set<Rule> rules, UnaryOperator<Backend> wrong) {
    return parts(name, area, rules, UnaryOperator.identity(), wrong);
  }

  /** Parts that are wrong together. */
  static Mutant parts(
      String name, String area, Set<Rule> rules, UnaryOperator<StandardBackend.Builder> parts) {
    return parts(name, area, rules, parts, UnaryOperator.identity());
  }

  /** Parts and answers that are wrong together. */
  static Mutant parts(
      String name,
      String area,
      Set<Rule> rules,
      UnaryOperator<StandardBackend.Builder> parts,
      UnaryOperator<Backend> answers) {
    return new Mutant(
        name,
        area,
        rules,
        Mutant::plain,
        (machine, tap) ->
            answers.apply(StandardBackend.interposing(tap, () -> of(machine, parts))));
  }

  /** A backend over a machine of which some parts are others. */
  static Backend of(SimMachine machine, UnaryOperator<StandardBackend.Builder> parts) {
    return parts
        .apply(
            StandardBackend.builder("cpu-sim", machine.driver())
                .kind(BackendKind.SIMULATOR)
                .kernel(machine.kernel()))
        .build();
  }

  @Override
  public String toString() {
    return name;
  }
}
