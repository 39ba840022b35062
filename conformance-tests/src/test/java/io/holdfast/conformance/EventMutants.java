package io.holdfast.conformance;

import io.holdfast.Backend;
import io.holdfast.event.Activity;
import io.holdfast.event.Statistics;
import io.holdfast.event.Statistics.Series;
import io.holdfast.event.Statistics.Tally;
import io.holdfast.host.HostMemory;
import io.holdfast.pin.PinException;
import io.holdfast.pin.PinRequest;
import io.holdfast.pin.PinnedRegion;
import io.holdfast.pin.Pinner;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.UnaryOperator;

/** Backends that do one thing and tell another. */
final class EventMutants {
  private EventMutants() {}

  static List<Mutant> all() {
    String area = "events";
    List<Mutant> all = new ArrayList<>();
    all.add(
        Mutant.pinner(
            "halves and says nothing",
            area,
            Set.of(Rule.EVT_01, Rule.FLT_05),
            EventMutants::halvesInSilence));
    all.add(
        Mutant.parts(
            "counts a fallback that nobody can see",
            area,
            Set.of(Rule.EVT_01),
            builder -> builder.pinner(EventMutants::halvesInSilence),
            statistics(
                () -> {
                  AtomicLong fallbacks = new AtomicLong();
                  return told ->
                      told.plus(
                          Series.of(Activity.FALLBACK),
                          new Tally(fallbacks.getAndIncrement(), 0, 0, 0));
                })));
    all.add(
        Mutant.backend(
            "counts nothing",
            area,
            Set.of(Rule.EVT_02, Rule.EVT_03, Rule.EVT_04),
            statistics(() -> _ -> Statistics.none())));
    all.add(
        Mutant.backend(
            "counts bytes twice",
            area,
            Set.of(Rule.EVT_02, Rule.EVT_03, Rule.EVT_04),
            statistics(
                () ->
                    told ->
                        each(
                            told,
                            one ->
                                new Tally(
                                    one.count(), one.failures(), 2 * one.bytes(), one.nanos())))));
    all.add(
        Mutant.backend(
            "counts a failure as a success",
            area,
            Set.of(Rule.EVT_04),
            statistics(
                () ->
                    told ->
                        each(told, one -> new Tally(one.count(), 0, one.bytes(), one.nanos())))));
    all.add(
        Mutant.backend(
            "counts what nobody did",
            area,
            Set.of(Rule.EVT_02, Rule.EVT_03),
            statistics(
                () -> {
                  AtomicLong stores = new AtomicLong();
                  return told ->
                      told.plus(
                          Series.of(Activity.STORE), new Tally(stores.getAndIncrement(), 0, 0, 0));
                })));
    return all;
  }

  private static Statistics each(Statistics told, UnaryOperator<Tally> other) {
    Map<Series, Tally> all = new HashMap<>();
    told.series().forEach((which, tally) -> all.put(which, other.apply(tally)));
    return new Statistics(all);
  }

  private interface Forgery {
    UnaryOperator<Statistics> begin();
  }

  private static UnaryOperator<Backend> statistics(Forgery forgery) {
    return backend -> {
      UnaryOperator<Statistics> forged = forgery.begin();
      return Wrong.object(
          Backend.class,
          backend,
          (_, _, behind) -> {
            Object told = behind.go();
            return told instanceof Statistics statistics ? forged.apply(statistics) : told;
          });
    };
  }

  private static Pinner halvesInSilence(Pinner standard) {
    return Wrong.object(
        Pinner.class,
        standard,
        (name, arguments, behind) ->
            name.equals("pin")
                    && ((PinRequest) arguments[1]).onFailure() == PinRequest.OnFailure.HALVE
                ? halved(standard, (HostMemory) arguments[0], (PinRequest) arguments[1])
                : behind.go());
  }

  private static PinnedRegion halved(Pinner standard, HostMemory memory, PinRequest request) {
    PinRequest whole = request.onFailure(PinRequest.OnFailure.ROLL_BACK);
    for (long bytes = memory.mappedBytes(); ; bytes /= 2) {
      try {
        return standard.pin(memory, whole.sliceBytes(bytes).capBytes(bytes));
      } catch (PinException refused) {
        if (bytes / 2 < memory.backingPageBytes()) {
          throw refused;
        }
      }
    }
  }
}
