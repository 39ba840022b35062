package io.holdfast.conformance;

import io.holdfast.backend.cpusim.LeakPolicy;
import io.holdfast.backend.cpusim.SimMachine;
import io.holdfast.backend.cpusim.SimProfile;
import io.holdfast.conformance.tap.Tap;
import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.Completion;
import io.holdfast.copy.CopyDecision;
import io.holdfast.copy.CopyEngine;
import io.holdfast.copy.CopyPath;
import io.holdfast.copy.CopyReport;
import io.holdfast.copy.CopyRoute;
import io.holdfast.device.Order;
import io.holdfast.host.Hold;
import io.holdfast.host.HostMemory;
import io.holdfast.host.HostRegion;
import io.holdfast.host.HostRequest;
import io.holdfast.host.NumaPolicy;
import io.holdfast.host.PageKind;
import io.holdfast.host.PageSource;
import io.holdfast.host.ShortfallException;
import io.holdfast.pin.CutPolicy;
import io.holdfast.pin.PinException;
import io.holdfast.pin.PinPacing;
import io.holdfast.pin.PinRequest;
import io.holdfast.pin.PinnedRegion;
import io.holdfast.pin.Pinner;
import io.holdfast.spi.StandardBackend;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.UnaryOperator;

/** Page sources, pinners and copy engines of a vendor's own that are wrong. */
final class PartMutants {
  private PartMutants() {}

  static List<Mutant> all() {
    List<Mutant> all = new ArrayList<>();
    pages(all);
    pins(all);
    engines(all);
    return all;
  }

  private static SimMachine twoNodes() {
    return SimMachine.builder().profile(SimProfile.named("h200")).leaks(LeakPolicy.IGNORE).build();
  }

  /** Regions that answer otherwise. */
  private static UnaryOperator<PageSource> regions(Wrong.AnswerOf<HostRegion> answer) {
    return Wrong.making(PageSource.class, HostRegion.class, answer);
  }

  /** Requests that are changed before they are made. */
  private static UnaryOperator<PageSource> requests(UnaryOperator<HostRequest> other) {
    return standard ->
        Wrong.object(
            PageSource.class,
            standard,
            (name, arguments, behind) ->
                name.equals("map")
                    ? standard.map(other.apply((HostRequest) arguments[0]))
                    : behind.go());
  }

  private static void pages(List<Mutant> all) {
    String area = "page source";
    all.add(
        Mutant.pages(
            "reports the rounded size as the logical one",
            area,
            Set.of(Rule.MAP_01),
            Mutant::plain,
            regions(
                (_, name, _, behind) -> {
                  Object told = behind.go();
                  return name.equals("logicalBytes") && told instanceof Long bytes
                      ? (Object) ((bytes + 4095) / 4096 * 4096)
                      : told;
                })));
    all.add(
        Mutant.pages(
            "maps a page more than it says",
            area,
            Set.of(Rule.MAP_01),
            Mutant::plain,
            regions(
                (_, name, _, behind) -> {
                  Object told = behind.go();
                  return name.equals("mappedBytes") && told instanceof Long bytes
                      ? (Object) (bytes + 4096)
                      : told;
                })));
    all.add(
        Mutant.pages(
            "closes the view arena last",
            area,
            Set.of(Rule.CLS_07),
            Mutant::plain,
            viewsUntil(ViewEnd.AFTER_THE_PAGES)));
    all.add(
        Mutant.pages(
            "keeps views for ever",
            area,
            Set.of(Rule.MAP_05),
            Mutant::plain,
            viewsUntil(ViewEnd.NEVER)));
    all.add(
        Mutant.pages(
            "has regions that cannot be closed twice",
            area,
            Set.of(Rule.CLS_04),
            Mutant::plain,
            standard ->
                Wrong.object(
                    PageSource.class,
                    standard,
                    (_, _, behind) -> {
                      Object made = behind.go();
                      AtomicBoolean closed = new AtomicBoolean();
                      return made instanceof HostRegion region
                          ? Wrong.object(
                              HostRegion.class,
                              region,
                              (name, _, real) -> {
                                if (name.equals("close") && closed.getAndSet(true)) {
                                  throw new IllegalStateException("closed already");
                                }
                                return real.go();
                              })
                          : made;
                    })));
    all.add(
        Mutant.pages(
            "moves a slice to a page of its own choice",
            area,
            Set.of(Rule.MAP_10),
            Mutant::plain,
            regions(
                (region, name, arguments, behind) ->
                    name.equals("slice")
                        ? region.slice((long) arguments[0] / 4096 * 4096, (long) arguments[1])
                        : behind.go())));
    all.add(
        Mutant.pages(
            "places what should stay where it falls",
            area,
            Set.of(Rule.NUM_07),
            PartMutants::twoNodes,
            requests(
                request ->
                    request.numa() instanceof NumaPolicy.Inherit
                        ? request.numa(new NumaPolicy.Bind(Set.of(0)))
                        : request)));
    all.add(registersToTheLogicalEnd());
    all.add(
        Mutant.pages(
            "forgets who holds memory",
            area,
            Set.of(Rule.CLS_02),
            Mutant::plain,
            regions(
                (_, name, _, behind) -> {
                  if (name.equals("hold")) {
                    return (Hold) () -> {};
                  }
                  return behind.go();
                })));
    all.add(
        Mutant.pages(
            "says that nothing is ever missing",
            area,
            Set.of(Rule.MAP_07),
            Mutant::plain,
            standard ->
                Wrong.object(
                    PageSource.class,
                    standard,
                    (name, _, behind) -> name.equals("check") ? Optional.empty() : behind.go())));
    all.add(
        Mutant.pages(
            "trims a node that is not there",
            area,
            Set.of(Rule.NUM_02),
            PartMutants::twoNodes,
            requests(
                request ->
                    request.numa() instanceof NumaPolicy.Bind bind
                        ? request.numa(new NumaPolicy.Bind(known(bind.nodes())))
                        : request)));
    all.add(
        Mutant.pages(
            "falls silently from huge pages to others",
            area,
            Set.of(Rule.HUG_02, Rule.HUG_01),
            PartMutants::twoNodes,
            requests(
                request ->
                    request.pages() instanceof PageKind.HugeTlb
                        ? request.pages(PageKind.base())
                        : request)));
    all.add(
        Mutant.pages(
            "falls silently from a pool that is too small",
            area,
            Set.of(Rule.HUG_03),
            PartMutants::twoNodes,
            standard ->
                Wrong.object(
                    PageSource.class,
                    standard,
                    (name, arguments, behind) -> {
                      try {
                        return behind.go();
                      } catch (ShortfallException shortfall) {
                        return standard.map(HostRequest.ofBytes(4096));
                      }
                    })));
    all.add(
        Mutant.pages(
            "gives a view before the pages are there",
            area,
            Set.of(Rule.MAP_08),
            Mutant::plain,
            standard ->
                Wrong.object(
                    PageSource.class,
                    standard,
                    (name, arguments, behind) ->
                        name.equals("mapInBackground")
                            ? standard.map(
                                ((HostRequest) arguments[0]).touch(HostRequest.Touch.LAZILY))
                            : behind.go())));
  }

  private enum ViewEnd {
    AFTER_THE_PAGES,
    NEVER
  }

  /** Views of an arena that outlives the pages. */
  @SuppressWarnings({"restricted", "MustBeClosedChecker"}) // it is closed late, or never: the fault
  private static UnaryOperator<PageSource> viewsUntil(ViewEnd end) {
    return standard ->
        Wrong.object(
            PageSource.class,
            standard,
            (_, _, behind) -> {
              Object made = behind.go();
              if (!(made instanceof HostRegion region)) {
                return made;
              }
              Arena arena = Arena.ofShared();
              return Wrong.object(
                  HostRegion.class,
                  region,
                  (name, _, real) -> {
                    Object told = real.go();
                    if (name.equals("close") && end == ViewEnd.AFTER_THE_PAGES) {
                      if (arena.scope().isAlive()) {
                        arena.close();
                      }
                    }
                    return told instanceof MemorySegment view
                        ? MemorySegment.ofAddress(view.address())
                            .reinterpret(view.byteSize(), arena, null)
                        : told;
                  });
            });
  }

  /** The last page is registered only as far as the caller's bytes go. */
  private static Mutant registersToTheLogicalEnd() {
    return new Mutant(
        "registers to the logical end",
        "page source",
        Set.of(Rule.REG_01, Rule.REG_06),
        Mutant::plain,
        (machine, tap) -> {
          Map<Long, Long> logicalEnds = new ConcurrentHashMap<>();
          Tap wrong =
              Wrong.call(
                  "DevicePort.register",
                  Wrong.range(
                      range -> {
                        long logical =
                            logicalEnds.getOrDefault(range.address() + range.byteSize(), 0L);
                        return range.asSlice(0, range.byteSize() - logical);
                      }));
          UnaryOperator<PageSource> noted =
              standard ->
                  Wrong.object(
                      PageSource.class,
                      standard,
                      (_, _, behind) -> {
                        Object made = behind.go();
                        if (made instanceof HostRegion region) {
                          logicalEnds.put(
                              region.segment().address() + region.mappedBytes(),
                              region.mappedBytes() - region.logicalBytes());
                        }
                        return made;
                      });
          return StandardBackend.interposing(
              wrong,
              () ->
                  StandardBackend.interposing(
                      tap, () -> Mutant.of(machine, builder -> builder.pageSource(noted))));
        });
  }

  private static Set<Integer> known(Set<Integer> nodes) {
    Set<Integer> known = new HashSet<>(nodes);
    known.removeIf(node -> node > 1);
    return known.isEmpty() ? Set.of(0) : known;
  }

  private static UnaryOperator<Pinner> pinned(Wrong.AnswerOf<PinnedRegion> answer) {
    return Wrong.making(Pinner.class, PinnedRegion.class, answer);
  }

  private static UnaryOperator<Pinner> pinRequests(UnaryOperator<PinRequest> other) {
    return standard ->
        Wrong.object(
            Pinner.class,
            standard,
            (name, arguments, behind) ->
                switch (name) {
                  case "pin" ->
                      standard.pin(
                          (HostMemory) arguments[0], other.apply((PinRequest) arguments[1]));
                  case "pinInBackground" ->
                      standard.pinInBackground(
                          (HostMemory) arguments[0], other.apply((PinRequest) arguments[1]));
                  default -> behind.go();
                });
  }

  private static void pins(List<Mutant> all) {
    String area = "pinner";
    all.add(
        Mutant.pinner(
            "reports logical bytes as registered",
            area,
            Set.of(Rule.REG_01, Rule.ACC_01),
            pinned(
                (_, name, _, behind) -> {
                  Object told = behind.go();
                  return name.equals("registeredBytes") && told instanceof Long bytes
                      ? (Object) Math.max(0, bytes - 4095)
                      : told;
                })));
    all.add(
        Mutant.pinner(
            "publishes blocks that are not pinned",
            area,
            Set.of(Rule.REG_14),
            pinned(
                (region, name, _, behind) ->
                    name.equals("watermarkBytes")
                        ? (Object) region.memory().mappedBytes()
                        : behind.go())));
    all.add(
        Mutant.pinner(
            "ignores the cap",
            area,
            Set.of(Rule.REG_07, Rule.REG_15),
            pinRequests(
                request ->
                    new PinRequest(
                        request.around(),
                        request.cuts(),
                        OptionalLong.empty(),
                        OptionalLong.empty(),
                        request.ignoredBounds(),
                        request.pacing(),
                        request.onFailure()))));
    all.add(
        Mutant.pinner(
            "cuts inside blocks though it may not",
            area,
            Set.of(Rule.REG_05),
            pinRequests(request -> request.cuts(CutPolicy.INSIDE_BLOCK_IF_NEEDED))));
    all.add(
        Mutant.pinner(
            "takes an overlapping pin for the same",
            area,
            Set.of(Rule.REG_03),
            standard -> {
              AtomicReference<PinnedRegion> last = new AtomicReference<>();
              return Wrong.object(
                  Pinner.class,
                  standard,
                  (_, _, behind) -> {
                    try {
                      Object made = behind.go();
                      if (made instanceof PinnedRegion region) {
                        last.set(region);
                      }
                      return made;
                    } catch (PinException refused) {
                      if (refused.reason() == PinException.Reason.PINNED_ALREADY) {
                        return last.get();
                      }
                      throw refused;
                    }
                  });
            }));
    all.add(
        Mutant.pinner(
            "keeps what worked though all was wanted",
            area,
            Set.of(Rule.FLT_01),
            pinRequests(request -> request.onFailure(PinRequest.OnFailure.KEEP_WHAT_WORKED))));
    all.add(
        Mutant.pinner(
            "takes all back though what worked was wanted",
            area,
            Set.of(Rule.FLT_06),
            pinRequests(request -> request.onFailure(PinRequest.OnFailure.ROLL_BACK))));
    all.add(
        Mutant.pinner(
            "pins as if there were no budget",
            area,
            Set.of(Rule.FLT_13),
            pinRequests(request -> request.pacing(PinPacing.flatOut()))));
    all.add(
        Mutant.pinner(
            "does not halve",
            area,
            Set.of(Rule.FLT_05),
            pinRequests(request -> request.onFailure(PinRequest.OnFailure.ROLL_BACK))));
    all.add(
        Mutant.pinner(
            "cannot be paused",
            area,
            Set.of(Rule.REG_13),
            pinned((_, name, _, behind) -> name.equals("pause") ? null : behind.go())));
    all.add(
        Mutant.pinner(
            "hides its quarantine",
            area,
            Set.of(Rule.FLT_03),
            standard ->
                Wrong.object(
                    Pinner.class,
                    standard,
                    (name, _, behind) -> name.equals("quarantine") ? List.of() : behind.go())));
  }

  /** Routes that answer otherwise. */
  private static UnaryOperator<CopyEngine> routes(Wrong.AnswerOf<CopyRoute> answer) {
    return Wrong.making(CopyEngine.class, CopyRoute.class, answer);
  }

  private static UnaryOperator<CopyEngine> completions(Wrong.AnswerOf<Completion> answer) {
    return routes((_, _, _, behind) -> Wrong.otherwise(Completion.class, behind.go(), answer));
  }

  private static void engines(List<Mutant> all) {
    String area = "copy engine";
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
            routes(
                (route, name, arguments, behind) -> {
                  try {
                    return behind.go();
                  } catch (IllegalArgumentException twice) {
                    return route.store(BlockCopies.withCapacity(0), Order.unordered());
                  }
                })));
    all.add(
        Mutant.copies(
            "skips ids that are out of range",
            area,
            Set.of(Rule.CPY_04),
            routes(
                (route, name, arguments, behind) -> {
                  try {
                    return behind.go();
                  } catch (IndexOutOfBoundsException outside) {
                    return route.store(BlockCopies.withCapacity(0), Order.unordered());
                  }
                })));
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
  }
}
