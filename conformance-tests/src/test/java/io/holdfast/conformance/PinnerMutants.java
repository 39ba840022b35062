package io.holdfast.conformance;

import io.holdfast.copy.CopyEngine;
import io.holdfast.copy.CopyOptions;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.host.HostMemory;
import io.holdfast.pin.CutPolicy;
import io.holdfast.pin.HostBlocks;
import io.holdfast.pin.HostBlocks.Access;
import io.holdfast.pin.PinException;
import io.holdfast.pin.PinPacing;
import io.holdfast.pin.PinRequest;
import io.holdfast.pin.PinnedRegion;
import io.holdfast.pin.Pinner;
import io.holdfast.pin.SlotLease;
import io.holdfast.spi.StandardBackend;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.UnaryOperator;

/** Pinners of a vendor's own that are wrong. */
final class PinnerMutants {
  private PinnerMutants() {}

  static List<Mutant> all() {
    String area = "pinner";
    List<Mutant> all = new ArrayList<>();
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
    all.add(
        Mutant.pinner(
            "tells its ranges from the last to the first",
            area,
            Set.of(Rule.REG_02),
            pinned(
                (region, name, _, behind) ->
                    name.equals("ranges") ? region.ranges().reversed() : behind.go())));
    slots(all);
    return all;
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

  private static void slots(List<Mutant> all) {
    String area = "slots";
    all.add(
        Mutant.parts(
            "copies as if slots lay block by block",
            area,
            Set.of(Rule.CPY_09),
            PinnerMutants::copiesBlockByBlock));
    all.add(
        Mutant.parts(
            "lends for writing what was wanted for reading",
            area,
            Set.of(Rule.SLT_03),
            slots(
                (slots, name, arguments, behind) ->
                    name.equals("lease")
                        ? slots.lease((long) arguments[0], Access.WRITE)
                        : behind.go())));
    all.add(
        Mutant.parts(
            "lends bytes for ever",
            area,
            Set.of(Rule.SLT_04),
            slots(
                (_, _, _, behind) ->
                    Wrong.otherwise(
                        SlotLease.class,
                        behind.go(),
                        (_, _, _, real) -> {
                          Object told = real.go();
                          return told instanceof MemorySegment bytes ? forEver(bytes) : told;
                        }))));
  }

  @SuppressWarnings("restricted") // the test reads them while the pool is open
  private static MemorySegment forEver(MemorySegment bytes) {
    MemorySegment same = MemorySegment.ofAddress(bytes.address()).reinterpret(bytes.byteSize());
    return bytes.isReadOnly() ? same.asReadOnly() : same;
  }

  /** Slots that answer otherwise; copy engines, which look inside, get the true ones. */
  private static UnaryOperator<StandardBackend.Builder> slots(Wrong.AnswerOf<HostBlocks> answer) {
    return builder -> {
      Map<HostBlocks, HostBlocks> copied = new ConcurrentHashMap<>();
      return builder
          .pinner(
              pinned(
                  (_, _, _, real) -> {
                    Object made = real.go();
                    Object other = Wrong.otherwise(HostBlocks.class, made, answer);
                    if (made instanceof HostBlocks slots) {
                      copied.put((HostBlocks) other, slots);
                    }
                    return other;
                  }))
          .copyEngine(routesOver(copied));
    };
  }

  private static StandardBackend.Builder copiesBlockByBlock(StandardBackend.Builder builder) {
    Map<HostBlocks, HostBlocks> copied = new ConcurrentHashMap<>();
    return builder
        .pinner(
            pinned(
                (region, _, _, real) -> {
                  Object made = real.go();
                  if (made instanceof HostBlocks slots) {
                    copied.put(slots, region.blocks(slots.shape().blockMajor(slots.slots())));
                  }
                  return made;
                }))
        .copyEngine(routesOver(copied));
  }

  /** Routes over the slots behind those that engines know. */
  private static UnaryOperator<CopyEngine> routesOver(Map<HostBlocks, HostBlocks> behind) {
    return standard ->
        Wrong.object(
            CopyEngine.class,
            standard,
            (name, arguments, real) ->
                name.equals("route") && arguments.length == 3
                    ? standard.route(
                        (DeviceBlocks) arguments[0],
                        behind.getOrDefault(arguments[1], (HostBlocks) arguments[1]),
                        (CopyOptions) arguments[2])
                    : real.go());
  }
}
