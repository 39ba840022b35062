package io.holdfast.conformance;

import io.holdfast.Availability;
import io.holdfast.Backend;
import io.holdfast.Backends;
import io.holdfast.Transcript;
import io.holdfast.spi.BackendProvider;
import io.holdfast.spi.ProbeLog;
import io.holdfast.spi.StandardBackend;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;

/** Providers that tell discovery something else than they open. */
final class ProviderMutants {
  private ProviderMutants() {}

  static List<Mutant> all() {
    String area = "discovery";
    List<Mutant> all = new ArrayList<>();
    all.add(
        provider(
            "has an id that nobody can type",
            area,
            Set.of(Rule.DSC_01),
            (_, name, _, behind) -> name.equals("id") ? "CPU sim" : behind.go()));
    all.add(
        provider(
            "speaks a version that is not known",
            area,
            Set.of(Rule.DSC_01),
            (_, name, _, behind) ->
                name.equals("spiVersion")
                    ? (Object) (BackendProvider.SPI_VERSION + 1)
                    : behind.go()));
    all.add(
        provider(
            "writes nothing down as it probes",
            area,
            Set.of(Rule.DSC_02),
            (real, name, _, behind) ->
                name.equals("probe") ? real.probe((_, _) -> {}) : behind.go()));
    AtomicInteger probes = new AtomicInteger();
    all.add(
        provider(
            "says something else each time",
            area,
            Set.of(Rule.DSC_02),
            (real, name, arguments, behind) -> {
              if (!name.equals("probe")) {
                return behind.go();
              }
              Availability.Available told =
                  (Availability.Available) real.probe((ProbeLog) arguments[0]);
              return new Availability.Available(
                  told.version() + "." + probes.incrementAndGet(), told.devices());
            }));
    all.add(
        provider(
            "opens whatever variant is asked for",
            area,
            Set.of(Rule.DSC_03),
            (real, name, arguments, behind) ->
                name.equals("open") && arguments.length == 1 ? real.open() : behind.go()));
    all.add(
        transcript(
            "does not say why it was chosen",
            area,
            Set.of(Rule.DSC_04),
            choice -> new Transcript.Choice(choice.id(), "")));
    all.add(
        transcript(
            "says that another was chosen",
            area,
            Set.of(Rule.DSC_04),
            choice -> new Transcript.Choice("another", choice.because())));
    return all;
  }

  private static Mutant transcript(
      String name, String area, Set<Rule> rules, UnaryOperator<Transcript.Choice> other) {
    return new Mutant(
        name,
        area,
        rules,
        Mutant::plain,
        (_, tap) ->
            Wrong.object(
                Backend.class,
                StandardBackend.interposing(tap, () -> Backends.select("cpu-sim")),
                (backend, call, _, behind) ->
                    call.equals("transcript")
                        ? new Transcript(
                            backend.transcript().entries(),
                            backend.transcript().chosen().map(other))
                        : behind.go()));
  }

  private static Mutant provider(
      String name, String area, Set<Rule> rules, Wrong.AnswerOf<BackendProvider> answer) {
    return new Mutant(
        name,
        area,
        rules,
        Mutant::plain,
        (_, tap) -> StandardBackend.interposing(tap, () -> Backends.select("cpu-sim")),
        real -> Wrong.object(BackendProvider.class, real, answer));
  }
}
