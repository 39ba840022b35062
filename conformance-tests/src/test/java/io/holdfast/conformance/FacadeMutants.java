package io.holdfast.conformance;

import io.holdfast.Backend;
import io.holdfast.Device;
import io.holdfast.device.CommittedExtent;
import io.holdfast.device.DeviceMemory;
import io.holdfast.device.DeviceSegment;
import io.holdfast.device.DmaBufExport;
import io.holdfast.device.ExportedRegion;
import io.holdfast.device.ExtensibleRegion;
import io.holdfast.device.HandleKind;
import io.holdfast.device.ImportedRegion;
import io.holdfast.device.ShareableHandle;
import io.holdfast.device.Subscription;
import io.holdfast.device.Support;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.UnaryOperator;

/** Backends whose answers to engines are wrong, whatever policy and driver do. */
final class FacadeMutants {
  private FacadeMutants() {}

  static List<Mutant> all() {
    List<Mutant> all = new ArrayList<>();
    backends(all);
    regions(all);
    exports(all);
    return all;
  }

  private static void backends(List<Mutant> all) {
    String area = "backends";
    all.add(
        Mutant.backend(
            "opens another device where there is none",
            area,
            Set.of(Rule.DEV_02),
            answers(
                (backend, name, arguments, behind) -> {
                  try {
                    return behind.go();
                  } catch (IndexOutOfBoundsException none) {
                    return name.equals("open") ? backend.open(0) : null;
                  }
                })));
    all.add(
        Mutant.backend(
            "forgets what is open",
            area,
            Set.of(Rule.ACC_02),
            answers((_, name, _, behind) -> name.equals("stillOpen") ? List.of() : behind.go())));
    all.add(
        Mutant.backend(
            "has no version for engines",
            area,
            Set.of(Rule.DEV_02),
            answers((_, name, _, behind) -> name.equals("version") ? "" : behind.go())));
    all.add(
        Mutant.backend(
            "shows device memory to the end of its last page",
            area,
            Set.of(Rule.DEV_05),
            memory(
                standard ->
                    Wrong.object(
                        DeviceMemory.class,
                        standard,
                        (name, arguments, behind) ->
                            name.equals("allocate")
                                ? standard.allocate(Math.ceilDiv((long) arguments[0], 4096) * 4096)
                                : behind.go()))));
  }

  private static UnaryOperator<Backend> answers(Wrong.AnswerOf<Backend> answer) {
    return backend -> Wrong.object(Backend.class, backend, answer);
  }

  /** A backend whose devices have another memory. */
  private static UnaryOperator<Backend> memory(UnaryOperator<DeviceMemory> other) {
    return Wrong.making(
        Backend.class,
        Device.class,
        (device, name, _, behind) ->
            name.equals("memory") ? other.apply(device.memory()) : behind.go());
  }

  private static UnaryOperator<Backend> extensible(Wrong.AnswerOf<ExtensibleRegion> answer) {
    return memory(Wrong.making(DeviceMemory.class, ExtensibleRegion.class, answer));
  }

  private static void regions(List<Mutant> all) {
    String area = "extensible memory";
    all.add(
        Mutant.backend(
            "grows though it was sealed",
            area,
            Set.of(Rule.VMM_05),
            extensible(
                (region, name, _, behind) -> {
                  try {
                    return behind.go();
                  } catch (IllegalStateException sealed) {
                    if (name.equals("commit")) {
                      return region.committed();
                    }
                    throw sealed;
                  }
                })));
    all.add(
        Mutant.backend(
            "tells nobody before pages go",
            area,
            Set.of(Rule.VMM_08),
            extensible(
                (_, name, _, behind) ->
                    name.equals("beforeChange") ? (Subscription) () -> {} : behind.go())));
    all.add(
        Mutant.backend(
            "takes more than the capacity for all of it",
            area,
            Set.of(Rule.VMM_10),
            extensible(
                (region, name, arguments, behind) ->
                    name.equals("commit") && (long) arguments[0] > 16
                        ? region.commit(16)
                        : behind.go())));
    all.add(
        Mutant.backend(
            "calls logical bytes physical",
            area,
            Set.of(Rule.VMM_04),
            extensible(
                (_, _, _, behind) -> {
                  Object told = behind.go();
                  return told instanceof CommittedExtent extent
                      ? new CommittedExtent(
                          extent.blocks(), extent.logicalBytes(), extent.logicalBytes())
                      : told;
                })));
    all.add(
        Mutant.backend(
            "raises no epoch",
            area,
            Set.of(Rule.VMM_03),
            extensible((_, name, _, behind) -> name.equals("epoch") ? (Object) 0L : behind.go())));
    all.add(
        Mutant.backend(
            "says that it cannot reserve, and reserves",
            area,
            Set.of(Rule.VMM_13),
            memory(
                standard ->
                    Wrong.object(
                        DeviceMemory.class,
                        standard,
                        (name, _, behind) ->
                            name.equals("extensibleSupport")
                                ? new Support.Unsupported("a mutant", "none")
                                : behind.go()))));
  }

  private static void exports(List<Mutant> all) {
    String area = "exports";
    all.add(
        Mutant.backend(
            "exports before seal",
            area,
            Set.of(Rule.EXP_01),
            extensible(
                (region, name, _, behind) -> {
                  if (name.equals("export") && region.state() != ExtensibleRegion.State.SEALED) {
                    return Wrong.hollow(ExportedRegion.class);
                  }
                  return behind.go();
                })));
    all.add(
        Mutant.backend(
            "exports a handle too many",
            area,
            Set.of(Rule.EXP_05),
            extensible(
                (_, _, _, behind) ->
                    Wrong.otherwise(
                        ExportedRegion.class,
                        behind.go(),
                        (export, name, _, real) -> {
                          if (!name.equals("handles")) {
                            return real.go();
                          }
                          List<ShareableHandle> many = new ArrayList<>(export.handles());
                          many.add(many.getFirst());
                          return many;
                        }))));
    all.add(
        Mutant.backend(
            "gives pages back under an export",
            area,
            Set.of(Rule.EXP_04),
            backend -> {
              List<ExportedRegion> open = new ArrayList<>();
              return extensible(
                      (_, name, _, behind) -> {
                        if (name.equals("releasePhysical")) {
                          open.forEach(ExportedRegion::close);
                        }
                        Object made = behind.go();
                        if (made instanceof ExportedRegion export) {
                          open.add(export);
                        }
                        return made;
                      })
                  .apply(backend);
            }));
    all.add(
        Mutant.backend(
            "takes anybody's descriptor",
            area,
            Set.of(Rule.EXP_06),
            memory(
                standard ->
                    Wrong.object(
                        DeviceMemory.class,
                        standard,
                        (name, _, behind) -> {
                          try {
                            return behind.go();
                          } catch (RuntimeException refused) {
                            if (name.equals("importRegion")) {
                              return Wrong.hollow(ImportedRegion.class);
                            }
                            throw refused;
                          }
                        }))));
    all.add(
        Mutant.backend(
                "exports across hosts where the driver cannot",
                area,
                Set.of(Rule.EXP_07),
                extensible(
                    (_, name, arguments, behind) ->
                        name.equals("export") && arguments[0] == HandleKind.FABRIC
                            ? Wrong.hollow(ExportedRegion.class)
                            : behind.go()))
            .on(Mutant::withoutFabric));
    all.add(
        Mutant.backend(
                "gives a descriptor of this host across hosts",
                area,
                Set.of(Rule.EXP_07),
                extensible(
                    (_, _, _, behind) ->
                        Wrong.otherwise(
                            ExportedRegion.class,
                            behind.go(),
                            (export, name, _, real) ->
                                name.equals("handles")
                                    ? export.handles().stream()
                                        .map(
                                            one ->
                                                new ShareableHandle(
                                                    one.kind(), 7, one.physicalBytes()))
                                        .toList()
                                    : real.go())))
            .on(Mutant::withFabric));
    all.add(
        Mutant.backend(
            "calls a dma-buf as long as the range in it",
            area,
            Set.of(Rule.EXP_08),
            extensible(
                (_, name, arguments, behind) ->
                    Wrong.otherwise(
                        DmaBufExport.class,
                        behind.go(),
                        (_, call, _, real) ->
                            call.equals("bytes")
                                ? (Object) ((DeviceSegment) arguments[0]).byteSize()
                                : real.go()))));
  }
}
