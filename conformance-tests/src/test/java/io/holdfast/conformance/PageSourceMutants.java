package io.holdfast.conformance;

import io.holdfast.conformance.tap.Tap;
import io.holdfast.error.BusyException;
import io.holdfast.host.Hold;
import io.holdfast.host.HostRegion;
import io.holdfast.host.HostRequest;
import io.holdfast.host.NumaPolicy;
import io.holdfast.host.PageKind;
import io.holdfast.host.PageSource;
import io.holdfast.host.PlacementReceipt;
import io.holdfast.host.SharedRegion;
import io.holdfast.host.SharedRequest;
import io.holdfast.host.SharingException;
import io.holdfast.host.Shortfall;
import io.holdfast.host.ShortfallException;
import io.holdfast.spi.StandardBackend;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiFunction;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/** Page sources of a vendor's own that are wrong. */
final class PageSourceMutants {
  private PageSourceMutants() {}

  static List<Mutant> all() {
    String area = "page source";
    List<Mutant> all = new ArrayList<>();
    all.add(
        Mutant.pages(
            "reports the rounded size as the logical one",
            area,
            Set.of(Rule.MAP_01),
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
            viewsUntil(ViewEnd.AFTER_THE_PAGES)));
    all.add(
        Mutant.pages("keeps views for ever", area, Set.of(Rule.CLS_07), viewsUntil(ViewEnd.NEVER)));
    all.add(
        Mutant.pages(
            "gives views after the close",
            area,
            Set.of(Rule.MAP_05),
            regions(
                (_, name, _, behind) -> {
                  try {
                    return behind.go();
                  } catch (IllegalStateException closed) {
                    if (name.equals("segment")) {
                      return MemorySegment.NULL;
                    }
                    throw closed;
                  }
                })));
    all.add(
        Mutant.pages(
            "has regions that cannot be closed twice",
            area,
            Set.of(Rule.CLS_04),
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
                requests(
                    request ->
                        request.numa() instanceof NumaPolicy.Inherit
                            ? request.numa(new NumaPolicy.Bind(Set.of(0)))
                            : request))
            .on(Mutant::twoNodes));
    all.add(registersToTheLogicalEnd());
    all.add(
        Mutant.pages(
            "forgets who holds memory",
            area,
            Set.of(Rule.CLS_02),
            regions(
                (_, name, _, behind) -> {
                  if (name.equals("hold")) {
                    return (Hold) () -> {};
                  }
                  return behind.go();
                })));
    all.add(
        Mutant.pages(
            "says nothing where it cannot close",
            area,
            Set.of(Rule.CLS_01),
            regions(
                (_, name, _, behind) -> {
                  try {
                    return behind.go();
                  } catch (BusyException inUse) {
                    if (name.equals("close")) {
                      return null;
                    }
                    throw inUse;
                  }
                })));
    all.add(
        Mutant.pages(
            "says that nothing is ever missing",
            area,
            Set.of(Rule.MAP_07),
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
                requests(
                    request ->
                        request.numa() instanceof NumaPolicy.Bind bind
                            ? request.numa(new NumaPolicy.Bind(known(bind.nodes())))
                            : request))
            .on(Mutant::twoNodes));
    all.add(
        Mutant.pages(
                "falls silently from huge pages to others",
                area,
                Set.of(Rule.HUG_02, Rule.HUG_01),
                requests(
                    request ->
                        request.pages() instanceof PageKind.HugeTlb
                            ? request.pages(PageKind.base())
                            : request))
            .on(Mutant::twoNodes));
    all.add(
        Mutant.pages(
                "falls silently from a pool that is too small",
                area,
                Set.of(Rule.HUG_03),
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
                        }))
            .on(Mutant::twoNodes));
    all.add(
        Mutant.pages(
            "gives a view before the pages are there",
            area,
            Set.of(Rule.MAP_08),
            standard ->
                Wrong.object(
                    PageSource.class,
                    standard,
                    (name, arguments, behind) ->
                        name.equals("mapInBackground")
                            ? standard.map(
                                ((HostRequest) arguments[0]).touch(HostRequest.Touch.LAZILY))
                            : behind.go())));
    all.add(
        Mutant.pages(
            "shows the padding in its views",
            area,
            Set.of(Rule.MAP_02),
            regions(
                (region, _, _, behind) -> {
                  Object told = behind.go();
                  return told instanceof MemorySegment view
                      ? reinterpreted(view, region.mappedBytes())
                      : told;
                })));
    all.add(
        Mutant.pages(
            "takes no bytes at all for a page",
            area,
            Set.of(Rule.MAP_03),
            standard ->
                Wrong.object(
                    PageSource.class,
                    standard,
                    (name, _, behind) -> {
                      try {
                        return behind.go();
                      } catch (IllegalArgumentException none) {
                        if (name.equals("adopt")) {
                          return standard.map(HostRequest.ofBytes(1));
                        }
                        throw none;
                      }
                    })));
    all.add(
        Mutant.pages(
            "refuses without a remedy",
            area,
            Set.of(Rule.MAP_06),
            shortfalls((_, refused) -> withoutRemedy(refused))));
    all.add(
        Mutant.pages(
            "keeps a page of what it refuses",
            area,
            Set.of(Rule.MAP_06),
            shortfalls(
                (standard, refused) -> {
                  var _ = standard.map(HostRequest.ofBytes(1));
                  return refused;
                })));
    all.add(
        Mutant.pages(
            "unmaps what it adopted",
            area,
            Set.of(Rule.MAP_11),
            PageSourceMutants::unmapsTheOwners));
    all.add(
        Mutant.pages(
            "accounts for the logical bytes only",
            area,
            Set.of(Rule.MAP_12),
            receipts(
                (region, told) ->
                    receipt(
                        told,
                        told.bytesPerNode(),
                        Map.of(region.backingPageBytes(), region.logicalBytes()),
                        told.notes()))));
    all.add(
        Mutant.pages(
            "takes whole huge pages where they are a wish",
            area,
            Set.of(Rule.MAP_13),
            requests(
                request ->
                    request.pages() instanceof PageKind.TransparentHuge
                        ? request.logicalBytes(
                            Math.ceilDiv(request.logicalBytes(), 2L << 20) * (2L << 20))
                        : request)));
    all.add(
        Mutant.pages(
            "does not say what came of a wish for huge pages",
            area,
            Set.of(Rule.MAP_13),
            receipts(
                (region, told) ->
                    region.request().pages() instanceof PageKind.TransparentHuge
                        ? receipt(told, told.bytesPerNode(), Map.of(), List.of())
                        : told)));
    all.add(
        Mutant.pages(
                "accounts all bytes to the first node",
                area,
                Set.of(Rule.NUM_05),
                receipts(
                    (region, told) ->
                        receipt(
                            told,
                            Map.of(0, region.mappedBytes()),
                            told.bytesPerPageSize(),
                            told.notes())))
            .on(Mutant::twoNodes));
    all.add(
        Mutant.pages(
            "populates everything before anything can be pinned",
            area,
            Set.of(Rule.REG_17),
            standard ->
                Wrong.object(
                    PageSource.class,
                    standard,
                    (name, arguments, behind) ->
                        name.equals("mapInBackground")
                            ? standard.map((HostRequest) arguments[0])
                            : behind.go())));
    shared(all);
    return all;
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

  private static void shared(List<Mutant> all) {
    String area = "sharing";
    all.add(
        Mutant.pages(
            "shows a rank its own bytes for another's",
            area,
            Set.of(Rule.MPR_01),
            Wrong.making(
                PageSource.class,
                SharedRegion.class,
                (region, name, _, behind) -> name.equals("of") ? region.mine() : behind.go())));
    all.add(
        Mutant.pages(
            "reaps and does not say what",
            area,
            Set.of(Rule.MPR_02),
            reaps((standard, directory) -> standard.reapStale(directory).subList(0, 0))));
    all.add(
        Mutant.pages(
            "reaps what the living share",
            area,
            Set.of(Rule.MPR_02),
            reaps(
                (standard, directory) -> {
                  List<String> reaped = standard.reapStale(directory);
                  removeFiles(directory, "kit-alive-" + ProcessHandle.current().pid() + "-");
                  return reaped;
                })));
    all.add(
        Mutant.pages(
            "gives every rank what the first asked for",
            area,
            Set.of(Rule.MPR_04),
            shares(
                (standard, request, rank) ->
                    standard.share(
                        new SharedRequest(
                            request.name(),
                            request.ranks(),
                            HostRequest.ofBytes(256 << 10),
                            request.patience()),
                        rank))));
    all.add(
        Mutant.pages(
            "counts those who never came",
            area,
            Set.of(Rule.MPR_05),
            shares(
                (standard, request, rank) -> {
                  try {
                    return standard.share(request, rank);
                  } catch (SharingException alone) {
                    throw new SharingException(
                        alone.reason(), alone.name(), alone.ranks(), alone.ranks(), "a mutant");
                  }
                })));
  }

  private interface Sharing {
    SharedRegion share(PageSource standard, SharedRequest request, int rank);
  }

  private static UnaryOperator<PageSource> shares(Sharing other) {
    return standard ->
        Wrong.object(
            PageSource.class,
            standard,
            (name, arguments, behind) ->
                name.equals("share")
                    ? other.share(standard, (SharedRequest) arguments[0], (int) arguments[1])
                    : behind.go());
  }

  private static UnaryOperator<PageSource> reaps(BiFunction<PageSource, Path, List<String>> other) {
    return standard ->
        Wrong.object(
            PageSource.class,
            standard,
            (name, arguments, behind) ->
                name.equals("reapStale")
                    ? other.apply(standard, (Path) arguments[0])
                    : behind.go());
  }

  private static void removeFiles(Path directory, String name) {
    try (Stream<Path> files = Files.list(directory)) {
      for (Path file : files.filter(one -> one.toString().contains(name)).toList()) {
        Files.delete(file);
      }
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    }
  }

  /** Refusals that are others. */
  private static UnaryOperator<PageSource> shortfalls(
      BiFunction<PageSource, ShortfallException, ShortfallException> other) {
    return standard ->
        Wrong.object(
            PageSource.class,
            standard,
            (_, _, behind) -> {
              try {
                return behind.go();
              } catch (ShortfallException refused) {
                throw other.apply(standard, refused);
              }
            });
  }

  private static ShortfallException withoutRemedy(ShortfallException refused) {
    List<Shortfall.Limit> limits =
        refused.shortfall().limits().stream()
            .map(
                one ->
                    new Shortfall.Limit(
                        one.name(), one.node(), one.unitBytes(), one.needed(), one.available(), ""))
            .toList();
    return new ShortfallException("map", new Shortfall(limits), null);
  }

  /** Receipts that are others. */
  private static UnaryOperator<PageSource> receipts(
      BiFunction<HostRegion, PlacementReceipt, PlacementReceipt> other) {
    return regions(
        (region, _, _, behind) -> {
          Object told = behind.go();
          return told instanceof PlacementReceipt receipt ? other.apply(region, receipt) : told;
        });
  }

  private static PlacementReceipt receipt(
      PlacementReceipt told,
      Map<Integer, Long> bytesPerNode,
      Map<Long, Long> bytesPerPageSize,
      List<String> notes) {
    return new PlacementReceipt(
        bytesPerNode,
        bytesPerPageSize,
        told.sampledShare(),
        told.bytesElsewhere(),
        told.map(),
        told.populate(),
        told.populateThreads(),
        notes);
  }

  /** With memory that was adopted goes the region that was mapped last, its owner's. */
  private static PageSource unmapsTheOwners(PageSource standard) {
    AtomicReference<HostRegion> owners = new AtomicReference<>();
    return Wrong.object(
        PageSource.class,
        standard,
        (name, _, behind) -> {
          Object made = behind.go();
          if (name.equals("map")) {
            owners.set((HostRegion) made);
          }
          return name.equals("adopt")
              ? Wrong.object(
                  HostRegion.class,
                  (HostRegion) made,
                  (call, _, real) -> {
                    Object told = real.go();
                    if (call.equals("close")) {
                      owners.get().close();
                    }
                    return told;
                  })
              : made;
        });
  }

  @SuppressWarnings("restricted") // pages that the region has mapped
  private static MemorySegment reinterpreted(MemorySegment view, long bytes) {
    return MemorySegment.ofAddress(view.address()).reinterpret(bytes);
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
}
