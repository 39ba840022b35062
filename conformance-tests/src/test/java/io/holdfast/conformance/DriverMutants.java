package io.holdfast.conformance;

import static io.holdfast.conformance.Mutant.driver;

import io.holdfast.backend.cpusim.SimMachine;
import io.holdfast.conformance.tap.Call;
import io.holdfast.conformance.tap.Tap;
import io.holdfast.conformance.tap.Twist;
import io.holdfast.device.MemoryInfo;
import io.holdfast.error.DriverException;
import io.holdfast.error.DriverFault;
import io.holdfast.spi.CaptureState;
import io.holdfast.spi.DeviceFacts;
import io.holdfast.spi.DeviceRange;
import io.holdfast.spi.StreamOrigin;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** Drivers that do something else than they are asked for, or say so. */
final class DriverMutants {
  private DriverMutants() {}

  static List<Mutant> all() {
    List<Mutant> all = new ArrayList<>();
    claims(all);
    streams(all);
    bytes(all);
    words(all);
    return all;
  }

  private static DriverException unsupported() {
    return new DriverException(
        "cpu-sim", "mutant", 801, "NOT_SUPPORTED", DriverFault.NOT_SUPPORTED);
  }

  private static void claims(List<Mutant> all) {
    String area = "claims";
    all.add(
        driver(
            "claims regular rows and cannot copy them",
            area,
            Set.of(Rule.CAP_05, Rule.BAT_04),
            _ ->
                Wrong.call(
                    "PitchedCopyPort.copyRows",
                    (_, _) -> {
                      throw unsupported();
                    })));
    all.add(
        driver(
            "claims batches and copies nothing",
            area,
            Set.of(Rule.CAP_05, Rule.BAT_01),
            _ -> Wrong.forgets("BatchCopyPort.copyBatch")));
    all.add(
        driver(
            "claims cores and copies nothing by them",
            area,
            Set.of(Rule.CAP_05, Rule.KER_01),
            _ -> Wrong.forgets("KernelCopyPort.copyByKernel")));
    all.add(
        driver(
            "claims equal addresses that are not",
            area,
            Set.of(Rule.CAP_04),
            _ ->
                Wrong.call(
                    "DevicePort.seenByDevice",
                    (_, through) -> {
                      DeviceRange told = (DeviceRange) through.go();
                      return told == null
                          ? null
                          : new DeviceRange(told.address() + (1L << 40), told.bytes());
                    })));
    all.add(
        driver(
            "names no device",
            area,
            Set.of(Rule.DEV_02),
            _ ->
                Wrong.call(
                    "AcceleratorDriver.devices",
                    (_, through) -> {
                      List<DeviceFacts> nameless = new ArrayList<>();
                      for (Object one : (List<?>) Optional.ofNullable(through.go()).orElseThrow()) {
                        DeviceFacts facts = (DeviceFacts) one;
                        nameless.add(
                            new DeviceFacts(
                                facts.ordinal(),
                                "",
                                facts.uuid(),
                                facts.pciAddress(),
                                facts.totalBytes(),
                                facts.numaNode()));
                      }
                      return nameless;
                    })));
    all.add(
        driver(
            "has no version",
            area,
            Set.of(Rule.DEV_02),
            _ -> Wrong.call("AcceleratorDriver.version", (_, _) -> "")));
    all.add(
        driver(
            "calls more memory free than there is",
            area,
            Set.of(Rule.DEV_07),
            _ ->
                Wrong.call(
                    "DevicePort.memoryInfo",
                    (_, through) -> {
                      MemoryInfo told = (MemoryInfo) through.go();
                      return told == null
                          ? null
                          : new MemoryInfo(told.totalBytes(), told.totalBytes());
                    })));
    all.add(
        driver(
            "gives less memory than it says",
            area,
            Set.of(Rule.DEV_04),
            _ ->
                Wrong.call(
                    "DevicePort.allocate",
                    (call, through) -> {
                      long wanted = call.argument(Long.class, 0);
                      DeviceRange given = (DeviceRange) through.goWith(Math.min(wanted, 64L << 20));
                      return given == null ? null : new DeviceRange(given.address(), wanted);
                    })));
  }

  private static void streams(List<Mutant> all) {
    String area = "streams";
    all.add(
        driver(
            "leaves no context current",
            area,
            Set.of(Rule.STR_06),
            machine ->
                Wrong.call(
                    "DevicePort.createStream",
                    (_, through) -> {
                      Object made = through.go();
                      machine.calls().ctxSetCurrent(0);
                      return made;
                    })));
    all.add(
        driver(
            "breaks a capture beside it",
            area,
            Set.of(Rule.STR_08),
            machine ->
                Wrong.call(
                    "DevicePort.recordEvent",
                    (_, through) -> {
                      inContext(machine, () -> machine.calls().memAlloc(new long[1], 4096));
                      return through.go();
                    })));
    all.add(
        driver(
            "sees no capture",
            area,
            Set.of(Rule.STR_07),
            _ -> Wrong.call("DevicePort.captureState", (_, _) -> CaptureState.NONE)));
    all.add(
        driver(
            "takes a default stream for an engine's",
            area,
            Set.of(Rule.STR_02),
            _ -> Wrong.call("DevicePort.originOf", (_, _) -> StreamOrigin.OWN_CONTEXT)));
    all.add(
        driver(
            "calls every event passed",
            area,
            Set.of(Rule.STR_10),
            _ -> Wrong.call("DevicePort.eventPassed", (_, _) -> true)));
    all.add(
        driver(
            "lets time run back",
            area,
            Set.of(Rule.PRT_04),
            _ -> Wrong.call("DevicePort.nanosBetween", (_, _) -> -5L)));
    all.add(
        driver(
            "destroys an engine's context",
            area,
            Set.of(Rule.STR_09),
            DriverMutants::destroysWhatItBorrowed));
    all.add(
        driver(
            "destroys an engine's stream with what was made for it",
            area,
            Set.of(Rule.STR_03),
            machine ->
                Wrong.call(
                    "DevicePort.adoptStream",
                    (call, through) -> {
                      Object adopted = through.go();
                      long stream = call.argument(Long.class, 0);
                      inContext(machine, () -> machine.calls().streamDestroy(stream));
                      return adopted;
                    })));
  }

  /** A device of an engine's context destroys that context with itself. */
  private static Tap destroysWhatItBorrowed(SimMachine machine) {
    AtomicLong borrowed = new AtomicLong();
    return Wrong.calls(
        Map.of(
            "AcceleratorDriver.openOn",
            (call, through) -> {
              borrowed.set(call.argument(Long.class, 1));
              return through.go();
            },
            "DevicePort.close",
            (_, through) -> {
              Object closed = through.go();
              machine.calls().ctxDestroy(borrowed.getAndSet(0));
              return closed;
            }));
  }

  /** A call as engines make it: in the shared context, under the thread's own capture mode. */
  private static void inContext(SimMachine machine, Runnable call) {
    long before = machine.calls().ctxGetCurrent();
    long[] context = new long[1];
    machine.calls().primaryCtxRetain(context, 0);
    machine.calls().ctxSetCurrent(context[0]);
    call.run();
    machine.calls().ctxSetCurrent(before);
    machine.calls().primaryCtxRelease(0);
  }

  private static void bytes(List<Mutant> all) {
    String area = "bytes";
    all.add(
        driver(
            "fills a byte less",
            area,
            Set.of(Rule.PRT_03),
            _ ->
                Wrong.call(
                    "DevicePort.fill",
                    (call, through) -> {
                      DeviceRange range = call.argument(DeviceRange.class, 0);
                      return through.goWith(
                          new DeviceRange(range.address(), Math.max(1, range.bytes() - 1)),
                          call.argument(Object.class, 1),
                          call.argument(Object.class, 2));
                    })));
    all.add(
        driver(
            "copies rows in the wrong order of slots",
            area,
            Set.of(Rule.CPY_01),
            _ ->
                Wrong.loads(
                    rows -> {
                      List<Call.Row> swapped = new ArrayList<>();
                      for (int i = 0; i < rows.size(); i++) {
                        Call.Row row = rows.get(i);
                        Call.Row other = rows.get(rows.size() - 1 - i);
                        swapped.add(
                            row.bytes() == other.bytes()
                                ? new Call.Row(row.destination(), other.source(), row.bytes())
                                : row);
                      }
                      return swapped;
                    })));
    all.add(
        driver(
            "loses a copy while there is a child",
            area,
            Set.of(Rule.MPR_03),
            _ ->
                Wrong.loads(
                    rows ->
                        ProcessHandle.current().children().findAny().isPresent()
                            ? rows.subList(0, rows.size() - 1)
                            : rows)));
  }

  private static void words(List<Mutant> all) {
    String area = "words";
    all.add(
        driver(
            "swallows the code of an unregister",
            area,
            Set.of(Rule.PRT_01),
            _ -> Wrong.swallows("DevicePort.unregister")));
    all.add(
        driver(
            "has no name for its code",
            area,
            Set.of(Rule.PRT_06, Rule.ERR_01),
            _ ->
                Wrong.call(
                    "DevicePort.unregister",
                    (_, through) -> {
                      try {
                        return through.go();
                      } catch (DriverException told) {
                        throw new DriverException(
                            told.backend(), told.operation(), told.code(), "", told.fault());
                      }
                    })));
    all.add(
        driver(
            "has devices that cannot be closed twice",
            area,
            Set.of(Rule.PRT_05),
            _ -> {
              Set<String> closed = ConcurrentHashMap.newKeySet();
              return Wrong.call(
                  "DevicePort.close",
                  (_, through) -> {
                    if (!closed.add("closed")) {
                      throw unsupported();
                    }
                    return through.go();
                  });
            }));
    all.add(
        driver(
            "leaves a refusal behind for the next call",
            area,
            Set.of(Rule.PRT_07),
            _ -> {
              AtomicReference<@Nullable DriverException> sticky = new AtomicReference<>();
              Twist remembers =
                  (_, through) -> {
                    try {
                      return through.go();
                    } catch (DriverException refused) {
                      sticky.set(refused);
                      throw refused;
                    }
                  };
              Twist repeats =
                  (_, through) -> {
                    DriverException before = sticky.getAndSet(null);
                    if (before != null) {
                      throw before;
                    }
                    return through.go();
                  };
              return Wrong.calls(
                  Map.of(
                      "DevicePort.unregister", remembers,
                      "DevicePort.free", remembers,
                      "DevicePort.allocate", repeats,
                      "DevicePort.createStream", repeats,
                      "DevicePort.createEvent", repeats,
                      "DevicePort.register", repeats));
            }));
    all.add(
        driver(
            "finds an allocation everywhere",
            area,
            Set.of(Rule.PRT_02, Rule.DEV_01),
            _ ->
                Wrong.call(
                    "DevicePort.rangeOf",
                    (call, _) ->
                        Optional.of(new DeviceRange(call.argument(Long.class, 0), 1L << 40)))));
  }
}
