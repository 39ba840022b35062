package io.holdfast.conformance;

import io.holdfast.Backend;
import io.holdfast.BackendKind;
import io.holdfast.backend.cpusim.LeakPolicy;
import io.holdfast.backend.cpusim.SimMachine;
import io.holdfast.conformance.tap.Tap;
import io.holdfast.copy.CopyEngine;
import io.holdfast.host.PageSource;
import io.holdfast.pin.Pinner;
import io.holdfast.spi.BackendProvider;
import io.holdfast.spi.Interposer;
import io.holdfast.spi.StandardBackend;
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

  /** A driver that is wrong: the mutation lies below the kit's tap. */
  static Mutant driver(
      String name, String area, Set<Rule> rules, Function<SimMachine, Interposer> wrong) {
    return driver(name, area, rules, Mutant::plain, wrong);
  }

  static Mutant driver(
      String name,
      String area,
      Set<Rule> rules,
      Supplier<SimMachine> boot,
      Function<SimMachine, Interposer> wrong) {
    return new Mutant(
        name,
        area,
        rules,
        boot,
        (machine, tap) ->
            StandardBackend.interposing(
                tap,
                () -> StandardBackend.interposing(wrong.apply(machine), machine::intoBackend)));
  }

  /** Policy that is wrong: the mutation lies above the kit's tap, as policy itself does. */
  static Mutant policy(String name, String area, Set<Rule> rules, Supplier<Interposer> wrong) {
    return policy(name, area, rules, Mutant::plain, wrong);
  }

  static Mutant policy(
      String name,
      String area,
      Set<Rule> rules,
      Supplier<SimMachine> boot,
      Supplier<Interposer> wrong) {
    return new Mutant(
        name,
        area,
        rules,
        boot,
        (machine, tap) ->
            StandardBackend.interposing(
                wrong.get(), () -> StandardBackend.interposing(tap, machine::intoBackend)));
  }

  /** A page source that is wrong. */
  static Mutant pages(
      String name,
      String area,
      Set<Rule> rules,
      Supplier<SimMachine> boot,
      UnaryOperator<PageSource> wrong) {
    return parts(name, area, rules, boot, builder -> builder.pageSource(wrong));
  }

  /** A pinner that is wrong. */
  static Mutant pinner(String name, String area, Set<Rule> rules, UnaryOperator<Pinner> wrong) {
    return parts(name, area, rules, Mutant::plain, builder -> builder.pinner(wrong));
  }

  /** A copy engine that is wrong. */
  static Mutant copies(String name, String area, Set<Rule> rules, UnaryOperator<CopyEngine> wrong) {
    return parts(name, area, rules, Mutant::plain, builder -> builder.copyEngine(wrong));
  }

  /** A backend whose answers to engines are wrong. */
  static Mutant backend(String name, String area, Set<Rule> rules, UnaryOperator<Backend> wrong) {
    return parts(name, area, rules, UnaryOperator.identity(), wrong);
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

  private static Mutant parts(
      String name,
      String area,
      Set<Rule> rules,
      Supplier<SimMachine> boot,
      UnaryOperator<StandardBackend.Builder> wrong) {
    return new Mutant(
        name,
        area,
        rules,
        boot,
        (machine, tap) -> StandardBackend.interposing(tap, () -> of(machine, wrong)));
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
