package io.holdfast.conformance;

import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.Completion;
import io.holdfast.copy.CopyDecision;
import io.holdfast.copy.CopyEngine;
import io.holdfast.copy.CopyOptions;
import io.holdfast.copy.CopyPath;
import io.holdfast.copy.CopyReport;
import io.holdfast.copy.CopyRoute;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.device.Order;
import io.holdfast.error.BusyException;
import io.holdfast.error.UnsupportedException;
import io.holdfast.pin.HostBlocks;
import io.holdfast.pin.NotReadyException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.UnaryOperator;

/** Copy engines of a vendor's own that are wrong. */
final class CopyEngineMutants {
  private CopyEngineMutants() {}

  static List<Mutant> all() {
    String area = "copy engine";
    List<Mutant> all = new ArrayList<>();
    all.add(
        Mutant.copies(
            "ignores the order of a store",
            area,
            Set.of(Rule.ORD_03, Rule.ORD_06),
            routes(
                (route, name, arguments, behind) ->
                    name.equals("store") && arguments.length == 2
                        ? route.store((BlockCopies) arguments[0], Order.unordered())
                        : behind.go())));
    all.add(
        Mutant.copies(
            "forgets who comes after a load",
            area,
            Set.of(Rule.ORD_04),
            routes(
                (route, name, arguments, behind) ->
                    name.equals("load") && arguments.length == 2
                        ? route.load((BlockCopies) arguments[0], Order.unordered())
                        : behind.go())));
    all.add(
        Mutant.copies(
            "calls a copy done when it is submitted",
            area,
            Set.of(Rule.CPY_12),
            completions(
                (_, name, _, behind) -> name.equals("isDone") ? (Object) true : behind.go())));
    all.add(
        Mutant.copies(
            "waits for the device in the submission",
            area,
            Set.of(Rule.CPY_11),
            routes(
                (_, _, _, behind) -> {
                  Object made = behind.go();
                  if (made instanceof Completion completion) {
                    completion.await();
                  }
                  return made;
                })));
    all.add(
        Mutant.copies(
            "counts what it moved wrongly",
            area,
            Set.of(Rule.CPY_08),
            completions(
                (_, name, _, behind) -> {
                  Object told = behind.go();
                  return told instanceof CopyReport report
                      ? new CopyReport(
                          report.bytes() + 1,
                          report.pairs(),
                          report.descriptors(),
                          report.path(),
                          report.submitNanos(),
                          report.deviceNanos())
                      : told;
                })));
    all.add(
        Mutant.copies(
            "takes a destination that is named twice",
            area,
            Set.of(Rule.CPY_05),
            copiesNothingInsteadOf(IllegalArgumentException.class)));
    all.add(
        Mutant.copies(
            "skips ids that are out of range",
            area,
            Set.of(Rule.CPY_04, Rule.VMM_09),
            copiesNothingInsteadOf(IndexOutOfBoundsException.class)));
    all.add(
        Mutant.copies(
            "skips slots that are not ready",
            area,
            Set.of(Rule.REG_12),
            copiesNothingInsteadOf(NotReadyException.class)));
    all.add(
        Mutant.copies(
            "skips slots that are leased",
            area,
            Set.of(Rule.SLT_02),
            copiesNothingInsteadOf(BusyException.class)));
    all.add(
        Mutant.copies(
            "copies the good pairs before it refuses a bad one",
            area,
            Set.of(Rule.ERR_02),
            routes(
                (route, _, _, behind) -> {
                  try {
                    return behind.go();
                  } catch (IndexOutOfBoundsException outside) {
                    route.store(BlockCopies.device(0).host(0), Order.unordered()).await();
                    throw outside;
                  }
                })));
    all.add(
        Mutant.copies(
            "waits for nothing where an event was never recorded",
            area,
            Set.of(Rule.ORD_02),
            routes(
                (route, name, arguments, behind) -> {
                  try {
                    return behind.go();
                  } catch (IllegalStateException never) {
                    if (name.equals("store")) {
                      return route.store((BlockCopies) arguments[0], Order.unordered());
                    }
                    throw never;
                  }
                })));
    all.add(
        Mutant.copies(
            "uses a completion again that is not done",
            area,
            Set.of(Rule.CPY_19),
            routes(
                (route, name, arguments, behind) -> {
                  try {
                    return behind.go();
                  } catch (IllegalStateException pending) {
                    if (name.equals("store") && arguments.length == 3) {
                      return route.store((BlockCopies) arguments[0], (Order) arguments[1]);
                    }
                    throw pending;
                  }
                })));
    all.add(
        Mutant.copies(
            "belongs to the thread that copied first",
            area,
            Set.of(Rule.THR_01),
            CopyEngineMutants::ofOneThread));
    all.add(
        Mutant.copies(
            "holds the carrier while it waits",
            area,
            Set.of(Rule.THR_02),
            completions(
                (completion, name, arguments, behind) -> {
                  if (name.equals("await") && arguments.length == 0) {
                    CompletableFuture<CopyReport> end = completion.future();
                    while (!end.isDone()) {
                      Thread.onSpinWait();
                    }
                  }
                  return behind.go();
                })));
    all.add(
        Mutant.copies(
            "takes sides of different shape",
            area,
            Set.of(Rule.CPY_06),
            made(
                (_, _, behind) -> {
                  try {
                    return behind.go();
                  } catch (IllegalArgumentException different) {
                    return Wrong.hollow(CopyRoute.class);
                  }
                })));
    all.add(
        Mutant.copies(
            "puts more rows into a batch than the caller wants",
            area,
            Set.of(Rule.BAT_02),
            made(
                (standard, arguments, _) ->
                    standard.route(
                        (DeviceBlocks) arguments[0],
                        (HostBlocks) arguments[1],
                        ((CopyOptions) arguments[2]).maxBatchEntries(4096)))));
    all.add(
        Mutant.copies(
                "takes another path where the driver lacks the one asked for",
                area,
                Set.of(Rule.CAP_03),
                made(
                    (standard, arguments, behind) -> {
                      try {
                        return behind.go();
                      } catch (UnsupportedException absent) {
                        return standard.route(
                            (DeviceBlocks) arguments[0], (HostBlocks) arguments[1]);
                      }
                    }))
            .on(Mutant::withAliases));
    all.add(
        Mutant.copies(
            "stores nothing into memory that is not pinned",
            area,
            Set.of(Rule.CPY_16),
            CopyEngineMutants::forgetsToUnstage));
    all.add(
        Mutant.copies(
            "keeps the caller's list until it copies",
            area,
            Set.of(Rule.CPY_10),
            routes(
                (route, name, arguments, behind) -> {
                  if (name.equals("load") && arguments.length == 2) {
                    BlockCopies one = (BlockCopies) arguments[0];
                    Object made = behind.go();
                    one.clear();
                    one.add(0, 0);
                    ((Completion) made).await();
                    return route.load(BlockCopies.device(7).host(0), (Order.TwoSided) arguments[1]);
                  }
                  return behind.go();
                })));
    all.add(
        Mutant.copies(
            "refuses an empty list",
            area,
            Set.of(Rule.CPY_03),
            routes(
                (_, _, arguments, behind) -> {
                  if (arguments.length > 0
                      && arguments[0] instanceof BlockCopies copies
                      && copies.pairs() == 0) {
                    throw new IllegalArgumentException("nothing to do");
                  }
                  return behind.go();
                })));
    all.add(
        Mutant.copies(
            "merges less than it could",
            area,
            Set.of(Rule.CPY_07, Rule.CPY_13),
            completions(
                (_, _, _, behind) -> {
                  Object told = behind.go();
                  return told instanceof CopyReport report
                      ? new CopyReport(
                          report.bytes(),
                          report.pairs(),
                          report.descriptors() + 1,
                          report.path(),
                          report.submitNanos(),
                          report.deviceNanos())
                      : told;
                })));
    all.add(
        Mutant.copies(
            "explains another path than it takes",
            area,
            Set.of(Rule.CPY_13),
            routes(
                (_, _, _, behind) -> {
                  Object told = behind.go();
                  return told instanceof CopyDecision decision
                      ? new CopyDecision(
                          decision.path() == CopyPath.LOOP ? CopyPath.BATCH : CopyPath.LOOP,
                          decision.descriptors(),
                          decision.driverCalls(),
                          decision.because())
                      : told;
                })));
    all.add(
        new Mutant(
            "allocates for each submission",
            area,
            Set.of(Rule.CPY_18),
            Mutant::plain,
            (machine, _) ->
                Mutant.of(
                    machine, builder -> builder.copyEngine(routes((_, _, _, real) -> real.go())))));
    all.add(
        Mutant.copies(
            "measures time though nobody asked",
            area,
            Set.of(Rule.CPY_17),
            completions(
                (_, name, _, behind) -> {
                  Object told = behind.go();
                  return told instanceof CopyReport report
                      ? new CopyReport(
                          report.bytes(),
                          report.pairs(),
                          report.descriptors(),
                          report.path(),
                          report.submitNanos(),
                          OptionalLong.of(1))
                      : told;
                })));
    return all;
  }

  /** Routes that answer otherwise. */
  private static UnaryOperator<CopyEngine> routes(Wrong.AnswerOf<CopyRoute> answer) {
    return Wrong.making(CopyEngine.class, CopyRoute.class, answer);
  }

  private static UnaryOperator<CopyEngine> completions(Wrong.AnswerOf<Completion> answer) {
    return routes((_, _, _, behind) -> Wrong.otherwise(Completion.class, behind.go(), answer));
  }

  private static UnaryOperator<CopyEngine> copiesNothingInsteadOf(
      Class<? extends RuntimeException> refusal) {
    return routes(
        (route, name, _, behind) -> {
          try {
            return behind.go();
          } catch (RuntimeException refused) {
            if (refusal.isInstance(refused) && !name.equals("close")) {
              return route.store(BlockCopies.withCapacity(0), Order.unordered());
            }
            throw refused;
          }
        });
  }

  private interface Making {
    Object of(CopyEngine standard, Object[] sidesAndOptions, Wrong.Behind behind) throws Throwable;
  }

  /** Routes that are made otherwise. */
  private static UnaryOperator<CopyEngine> made(Making other) {
    return standard ->
        Wrong.object(
            CopyEngine.class,
            standard,
            (name, arguments, behind) ->
                name.equals("route") ? other.of(standard, arguments, behind) : behind.go());
  }

  private static CopyEngine ofOneThread(CopyEngine standard) {
    Map<CopyRoute, Thread> owners = new ConcurrentHashMap<>();
    return routes(
            (route, name, _, behind) -> {
              Thread caller = Thread.currentThread();
              if (!name.equals("close")
                  && !owners.computeIfAbsent(route, _ -> caller).equals(caller)) {
                throw new IllegalStateException("this route belongs to another thread");
              }
              return behind.go();
            })
        .apply(standard);
  }

  private static CopyEngine forgetsToUnstage(CopyEngine standard) {
    Set<Object> staged = ConcurrentHashMap.newKeySet();
    return Wrong.object(
        CopyEngine.class,
        standard,
        (name, arguments, behind) -> {
          Object made = behind.go();
          if (name.equals("staged")) {
            staged.add(made);
            return made;
          }
          return !staged.contains(arguments[1])
              ? made
              : Wrong.otherwise(
                  CopyRoute.class,
                  made,
                  (route, call, _, real) ->
                      call.equals("store")
                          ? route.store(BlockCopies.withCapacity(0), Order.unordered())
                          : real.go());
        });
  }
}
