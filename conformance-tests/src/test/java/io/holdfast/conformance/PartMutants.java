package io.holdfast.conformance;

import io.holdfast.backend.cpusim.LeakPolicy;
import io.holdfast.backend.cpusim.SimMachine;
import io.holdfast.backend.cpusim.SimProfile;
import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.Completion;
import io.holdfast.copy.CopyEngine;
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
import io.holdfast.pin.PinRequest;
import io.holdfast.pin.PinnedRegion;
import io.holdfast.pin.Pinner;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
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
  private static UnaryOperator<PageSource> regions(Wrong.Answer answer) {
    return standard ->
        Wrong.object(
            PageSource.class,
            standard,
            (name, _, behind) -> {
              Object made = behind.go();
              return made instanceof HostRegion region
                  ? Wrong.object(HostRegion.class, region, answer)
                  : made;
            });
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
                (name, _, behind) -> {
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
                (name, _, behind) -> {
                  Object told = behind.go();
                  return name.equals("mappedBytes") && told instanceof Long bytes
                      ? (Object) (bytes + 4096)
                      : told;
                })));
    all.add(
        Mutant.pages(
            "forgets who holds memory",
            area,
            Set.of(Rule.CLS_02),
            Mutant::plain,
            regions(
                (name, _, behind) -> {
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

  private static Set<Integer> known(Set<Integer> nodes) {
    Set<Integer> known = new HashSet<>(nodes);
    known.removeIf(node -> node > 1);
    return known.isEmpty() ? Set.of(0) : known;
  }

  private static UnaryOperator<Pinner> pinned(Wrong.Answer answer) {
    return standard ->
        Wrong.object(
            Pinner.class,
            standard,
            (name, _, behind) -> {
              Object made = behind.go();
              return made instanceof PinnedRegion region
                  ? Wrong.object(PinnedRegion.class, region, answer)
                  : made;
            });
  }

  private static UnaryOperator<Pinner> pinRequests(UnaryOperator<PinRequest> other) {
    return standard ->
        Wrong.object(
            Pinner.class,
            standard,
            (name, arguments, behind) ->
                name.equals("pin")
                    ? standard.pin(
                        (HostMemory) arguments[0], other.apply((PinRequest) arguments[1]))
                    : behind.go());
  }

  private static void pins(List<Mutant> all) {
    String area = "pinner";
    all.add(
        Mutant.pinner(
            "reports logical bytes as registered",
            area,
            Set.of(Rule.REG_01),
            pinned(
                (name, _, behind) -> {
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
            standard ->
                Wrong.object(
                    Pinner.class,
                    standard,
                    (_, _, behind) -> {
                      Object made = behind.go();
                      return made instanceof PinnedRegion region
                          ? Wrong.object(
                              PinnedRegion.class,
                              region,
                              (name, _, real) ->
                                  name.equals("watermarkBytes")
                                      ? (Object) region.memory().mappedBytes()
                                      : real.go())
                          : made;
                    })));
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
            "does not halve",
            area,
            Set.of(Rule.FLT_05),
            pinRequests(request -> request.onFailure(PinRequest.OnFailure.ROLL_BACK))));
    all.add(
        Mutant.pinner(
            "cannot be paused",
            area,
            Set.of(Rule.REG_13),
            pinned((name, _, behind) -> name.equals("pause") ? null : behind.go())));
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
  private static UnaryOperator<CopyEngine> routes(RouteAnswer answer) {
    return standard ->
        Wrong.object(
            CopyEngine.class,
            standard,
            (_, _, behind) -> {
              Object made = behind.go();
              return made instanceof CopyRoute route
                  ? Wrong.object(
                      CopyRoute.class,
                      route,
                      (name, arguments, real) -> answer.of(route, name, arguments, real))
                  : made;
            });
  }

  private interface RouteAnswer {
    Object of(CopyRoute route, String name, Object[] arguments, Wrong.Behind behind)
        throws Throwable;
  }

  private static UnaryOperator<CopyEngine> completions(Wrong.Answer answer) {
    return routes(
        (_, _, _, behind) -> {
          Object made = behind.go();
          return made instanceof Completion completion
              ? Wrong.object(Completion.class, completion, answer)
              : made;
        });
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
            completions((name, _, behind) -> name.equals("isDone") ? (Object) true : behind.go())));
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
                (name, _, behind) -> {
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
            "measures time though nobody asked",
            area,
            Set.of(Rule.CPY_17),
            completions(
                (name, _, behind) -> {
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
