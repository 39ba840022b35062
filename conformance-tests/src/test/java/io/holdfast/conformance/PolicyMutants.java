package io.holdfast.conformance;

import static io.holdfast.conformance.Mutant.policy;

import io.holdfast.backend.cpusim.SimMachine;
import io.holdfast.conformance.tap.Call;
import io.holdfast.conformance.tap.Tap;
import io.holdfast.conformance.tap.Twist;
import io.holdfast.device.HandleKind;
import io.holdfast.error.DriverException;
import io.holdfast.error.DriverFault;
import io.holdfast.error.HostKernelException;
import io.holdfast.spi.CopyTable;
import io.holdfast.spi.DeviceRange;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.HostKernel.Advice;
import io.holdfast.spi.Interposer;
import io.holdfast.spi.PhysicalHandle;
import io.holdfast.spi.StandardBackend;
import io.holdfast.spi.StreamHandle;
import io.holdfast.spi.VirtualMemoryPort.PhysicalForm;
import io.holdfast.spi.VirtualMemoryPort.RdmaWish;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** Policy that asks the ports for something else than it should. */
final class PolicyMutants {
  private static final String REGISTER = "DevicePort.register";
  private static final String UNREGISTER = "DevicePort.unregister";
  private static final long DEFAULT_STREAM = 1;
  private static final int KITS_CODE = 9_999;

  private PolicyMutants() {}

  static List<Mutant> all() {
    List<Mutant> all = new ArrayList<>();
    registration(all);
    mapping(all);
    copies(all);
    order(all);
    lifetimes(all);
    virtualMemory(all);
    failures(all);
    placement(all);
    return all;
  }

  private static void registration(List<Mutant> all) {
    String area = "registration";
    all.add(
        policy(
            "cuts one page too early",
            area,
            Set.of(Rule.REG_06, Rule.REG_01),
            () ->
                Wrong.call(
                    REGISTER, Wrong.range(range -> range.asSlice(0, range.byteSize() - 4096)))));
    all.add(
        policy(
            "cuts inside a page",
            area,
            Set.of(Rule.REG_06),
            () ->
                Wrong.call(
                    REGISTER, Wrong.range(range -> range.asSlice(0, range.byteSize() - 100)))));
    all.add(
        policy(
            "registers each range in two halves",
            area,
            Set.of(Rule.REG_06),
            () ->
                Wrong.call(
                    REGISTER,
                    (call, through) -> {
                      MemorySegment range = call.argument(MemorySegment.class, 0);
                      long half = range.byteSize() / 2;
                      through.goWith(range.asSlice(0, half));
                      return through.goWith(range.asSlice(half));
                    })));
    all.add(
        policy(
            "forgets one unregister",
            area,
            Set.of(Rule.REG_08, Rule.REG_04),
            () -> {
              AtomicInteger seen = new AtomicInteger();
              return Wrong.call(
                  UNREGISTER, (_, through) -> seen.getAndIncrement() == 0 ? null : through.go());
            }));
    all.add(
        policy(
            "unregisters in ascending order",
            area,
            Set.of(Rule.REG_08),
            () -> late("HostKernel.unmap", Late.BEFORE)));
    all.add(
        policy(
            "unmaps under a registration",
            area,
            Set.of(Rule.REG_09),
            () -> late("HostKernel.unmap", Late.AFTER)));
    all.add(
        policy(
            "unregisters everything with the first range",
            area,
            Set.of(Rule.REG_11),
            PolicyMutants::allAtOnce));
    all.add(
        policy(
                "sees a range where it is not",
                area,
                Set.of(Rule.REG_10),
                PolicyMutants::twoPagesOff)
            .on(Mutant::withAliases));
  }

  private static Tap allAtOnce() {
    Map<Long, MemorySegment> registered = new ConcurrentHashMap<>();
    return Wrong.calls(
        Map.of(
            REGISTER,
            (call, through) -> {
              MemorySegment range = call.argument(MemorySegment.class, 0);
              Object answer = through.go();
              registered.put(range.address(), range);
              return answer;
            },
            UNREGISTER,
            (_, through) -> {
              for (MemorySegment range : List.copyOf(registered.values())) {
                if (registered.remove(range.address()) != null) {
                  through.goWith(range);
                }
              }
              return null;
            }));
  }

  private static Tap twoPagesOff() {
    return Wrong.call(
        "DevicePort.seenByDevice",
        (_, through) -> {
          DeviceRange told = (DeviceRange) through.go();
          return told == null ? null : new DeviceRange(told.address() + 8192, told.bytes());
        });
  }

  private enum Late {
    BEFORE,
    AFTER
  }

  /**
   * Unregisters are kept back until another call, and made before it, oldest last, or behind it.
   */
  private static Tap late(String until, Late when) {
    List<Twist.Through> kept = new ArrayList<>();
    Twist flush =
        (_, through) -> {
          List<Twist.Through> now = new ArrayList<>();
          synchronized (kept) {
            now.addAll(when == Late.AFTER ? kept : kept.reversed());
            kept.clear();
          }
          Object answer = when == Late.AFTER ? through.go() : null;
          for (Twist.Through one : now) {
            one.go();
          }
          return when == Late.AFTER ? answer : through.go();
        };
    Twist keep =
        (_, through) -> {
          synchronized (kept) {
            kept.add(through);
          }
          return null;
        };
    return Wrong.calls(Map.of(UNREGISTER, keep, until, flush));
  }

  private static void mapping(List<Mutant> all) {
    String area = "mapping";
    all.add(
        policy(
            "leaves mappings behind",
            area,
            Set.of(Rule.MAP_14, Rule.CLS_08),
            () -> Wrong.forgets("HostKernel.unmap")));
    all.add(
        policy(
            "unmaps a page less than it mapped",
            area,
            Set.of(Rule.MAP_14),
            () ->
                Wrong.call(
                    "HostKernel.unmap",
                    (call, through) -> {
                      MemorySegment range = call.argument(MemorySegment.class, 0);
                      return range.byteSize() <= 4096
                          ? through.go()
                          : through.goWith(range.asSlice(0, range.byteSize() - 4096));
                    })));
    all.add(
        policy(
            "maps a page more than it needs",
            area,
            Set.of(Rule.MAP_14),
            () ->
                Wrong.call(
                    "HostKernel.map",
                    (call, through) -> {
                      long bytes = call.argument(Long.class, 0);
                      MemorySegment more =
                          (MemorySegment)
                              through.goWith(bytes + 4096, call.argument(Object.class, 1));
                      return more == null ? null : more.asSlice(0, bytes);
                    })));
    all.add(
        policy(
            "lets children have the memory",
            area,
            Set.of(Rule.MAP_09),
            () -> advice(Advice.DONT_FORK, (_, _) -> null)));
    all.add(
        policy(
            "keeps memory from children only after it is populated",
            area,
            Set.of(Rule.MAP_09),
            PolicyMutants::forkAdviceLast));
    all.add(
        policy(
            "calls a failed populate done",
            area,
            Set.of(Rule.FLT_09),
            () -> Wrong.swallows("HostKernel.advise")));
    all.add(
        policy(
            "calls large memory populated as soon as it is mapped",
            area,
            Set.of(Rule.REG_16),
            () ->
                advice(
                    Advice.POPULATE_WRITE,
                    (call, through) ->
                        call.argument(MemorySegment.class, 0).byteSize() > 1 << 20
                            ? null
                            : through.go())));
    all.add(
        policy(
            "hands out memory that is not fresh",
            area,
            Set.of(Rule.MAP_04),
            () ->
                Wrong.call(
                    "HostKernel.map",
                    (call, through) -> {
                      MemorySegment range = (MemorySegment) through.go();
                      if (range != null) {
                        range.fill((byte) 1);
                      }
                      return range;
                    })));
  }

  private static Tap advice(Advice which, Twist twist) {
    return Wrong.call(
        "HostKernel.advise",
        (call, through) ->
            call.argument(Advice.class, 1) == which ? twist.answer(call, through) : through.go());
  }

  private static Tap forkAdviceLast() {
    AtomicReference<Twist.Through> kept = new AtomicReference<>();
    return Wrong.call(
        "HostKernel.advise",
        (call, through) -> {
          Advice what = call.argument(Advice.class, 1);
          if (what == Advice.DONT_FORK) {
            kept.set(through);
            return null;
          }
          Object answer = through.go();
          Twist.Through late = what == Advice.POPULATE_WRITE ? kept.getAndSet(null) : null;
          if (late != null) {
            late.go();
          }
          return answer;
        });
  }

  private static void copies(List<Mutant> all) {
    String area = "copies";
    all.add(
        policy(
            "copies a run over a cut",
            area,
            Set.of(Rule.CPY_15, Rule.BAT_03),
            () -> Wrong.copies(Wrong::merged)));
    all.add(
        policy(
            "forgets the last row",
            area,
            Set.of(Rule.CPY_01, Rule.BAT_01),
            () -> Wrong.copies(rows -> rows.subList(0, rows.size() - 1))));
    all.add(
        policy(
            "copies a byte less",
            area,
            Set.of(Rule.CPY_01),
            () ->
                Wrong.copies(
                    rows ->
                        rows.stream()
                            .map(
                                row ->
                                    new Call.Row(
                                        row.destination(),
                                        row.source(),
                                        Math.max(1, row.bytes() - 1)))
                            .toList())));
    all.add(
        policy(
            "copies a byte more",
            area,
            Set.of(Rule.CPY_14),
            () ->
                Wrong.copies(
                    rows ->
                        rows.stream()
                            .map(
                                row ->
                                    new Call.Row(row.destination(), row.source(), row.bytes() + 1))
                            .toList())));
    all.add(
        policy(
            "copies on the default stream",
            area,
            Set.of(Rule.CPY_20),
            () -> {
              StreamHandle legacy = new StreamHandle(DEFAULT_STREAM, 0);
              return Wrong.calls(
                  Map.of(
                      "DevicePort.copyEach",
                      (call, through) ->
                          through.goWith(
                              call.argument(Object.class, 0),
                              call.argument(Object.class, 1),
                              call.argument(Object.class, 2),
                              legacy),
                      "BatchCopyPort.copyBatch",
                      (call, through) ->
                          through.goWith(
                              call.argument(Object.class, 0),
                              call.argument(Object.class, 1),
                              call.argument(Object.class, 2),
                              call.argument(Object.class, 3),
                              legacy)));
            }));
    all.add(
        policy(
                "loses what lies beyond a cut",
                area,
                Set.of(Rule.CPY_02, Rule.HUG_05),
                () -> Wrong.copies(PolicyMutants::withoutFurtherPieces))
            .on(Mutant::twoNodes));
    all.add(
        policy(
                "gives cores the host's own addresses",
                area,
                Set.of(Rule.KER_03),
                PolicyMutants::hostsAddresses)
            .on(Mutant::withAliases));
    all.add(
        policy(
                "pins again for each device",
                area,
                Set.of(Rule.DEV_06),
                PolicyMutants::pinsForEachDevice)
            .on(Mutant::withAliases));
    all.add(
        policy(
            "takes all the device's cores for a copy",
            area,
            Set.of(Rule.KER_02),
            () ->
                Wrong.call(
                    "KernelCopyPort.copyByKernel",
                    (call, through) ->
                        through.goWith(
                            call.argument(Object.class, 0),
                            call.argument(Object.class, 1),
                            call.argument(Object.class, 2),
                            call.argument(Object.class, 3),
                            call.argument(Integer.class, 4) * 100,
                            call.argument(Object.class, 5)))));
    all.add(
        policy(
            "claims more rows than the driver takes",
            area,
            Set.of(Rule.CAP_02),
            () -> Wrong.call("BatchCopyPort.maxRows", (_, _) -> Integer.MAX_VALUE)));
    all.add(
        policy(
            "hides that the driver has batches",
            area,
            Set.of(Rule.CAP_01),
            () -> Wrong.hides("batchCopies")));
  }

  /** Rows less those that go on where the one before ends, on both sides. */
  private static List<Call.Row> withoutFurtherPieces(List<Call.Row> rows) {
    List<Call.Row> first = new ArrayList<>();
    for (int i = 0; i < rows.size(); i++) {
      Call.Row row = rows.get(i);
      Call.Row before = i == 0 ? null : rows.get(i - 1);
      if (before == null
          || before.source() + before.bytes() != row.source()
          || before.destination() + before.bytes() != row.destination()) {
        first.add(row);
      }
    }
    return first;
  }

  private static Tap hostsAddresses() {
    NavigableMap<Long, MemorySegment> seen = new ConcurrentSkipListMap<>();
    return Wrong.calls(
        Map.of(
            "DevicePort.seenByDevice",
            (call, through) -> {
              DeviceRange told = (DeviceRange) through.go();
              if (told != null) {
                seen.put(told.address(), call.argument(MemorySegment.class, 0));
              }
              return told;
            },
            "KernelCopyPort.copyByKernel",
            (call, through) -> {
              CopyTable table = call.argument(CopyTable.class, 0);
              long from = call.argument(Long.class, 2);
              for (long row = from; row < call.argument(Long.class, 3); row++) {
                Map.Entry<Long, MemorySegment> range = seen.floorEntry(table.destination(row));
                if (range != null) {
                  long offset = table.destination(row) - range.getKey();
                  table.set(
                      row,
                      range.getValue().address() + offset,
                      table.source(row),
                      table.bytes(row));
                }
              }
              return through.go();
            }));
  }

  private static Interposer pinsForEachDevice() {
    return Wrong.ports(
        (port, name, arguments, behind) -> {
          if (name.equals("seenByDevice")) {
            try {
              port.register((MemorySegment) arguments[0]);
            } catch (DriverException already) {
              return behind.go();
            }
          }
          return behind.go();
        });
  }

  private static void order(List<Mutant> all) {
    String area = "order";
    all.add(
        policy(
            "ignores what a copy waits for",
            area,
            Set.of(Rule.ORD_03, Rule.ORD_04, Rule.ORD_05, Rule.ORD_06, Rule.STR_05, Rule.STR_10),
            () -> Wrong.forgets("DevicePort.streamWait")));
    all.add(
        policy(
            "records nothing on an engine's stream",
            area,
            Set.of(Rule.STR_01),
            () -> Wrong.forgets("DevicePort.recordEvent")));
    all.add(
        policy(
            "lets a store overtake the loads before it",
            area,
            Set.of(Rule.ORD_01, Rule.SLT_06),
            PolicyMutants::storesOvertake));
    all.add(
        policy(
            "lets a load overtake the store before it",
            area,
            Set.of(Rule.SLT_01),
            PolicyMutants::loadsOvertake));
    all.add(
        policy(
            "orders nothing by the default stream",
            area,
            Set.of(Rule.STR_04),
            () ->
                Wrong.calls(
                    Map.of(
                        "DevicePort.recordEvent",
                        unlessDefault(1),
                        "DevicePort.streamWait",
                        unlessDefault(0)))));
  }

  /** Loads are kept back until the next store was submitted. */
  private static Tap storesOvertake() {
    List<Twist.Through> kept = new ArrayList<>();
    return copies(
        (call, through) -> {
          if (isLoad(call)) {
            kept.add(through);
            return null;
          }
          return before(kept, through);
        });
  }

  /** Every other store is kept back until the next load was submitted. */
  private static Tap loadsOvertake() {
    List<Twist.Through> kept = new ArrayList<>();
    AtomicBoolean keeps = new AtomicBoolean(true);
    return copies(
        (call, through) -> {
          if (isLoad(call)) {
            return before(kept, through);
          }
          if (keeps.getAndSet(!keeps.get())) {
            kept.add(through);
            return null;
          }
          return through.go();
        });
  }

  private static boolean isLoad(Call call) {
    return call.argument(CopyTable.class, 0).direction() == CopyTable.Direction.HOST_TO_DEVICE;
  }

  private static @Nullable Object before(List<Twist.Through> kept, Twist.Through copy)
      throws Throwable {
    Object answer = copy.go();
    for (Twist.Through one : kept) {
      one.go();
    }
    kept.clear();
    return answer;
  }

  /** Copies of one thread, on both paths that take tables of any kind. */
  private static Tap copies(Twist twist) {
    return Wrong.calls(Map.of("DevicePort.copyEach", twist, "BatchCopyPort.copyBatch", twist));
  }

  private static Twist unlessDefault(int stream) {
    return (call, through) ->
        call.argument(StreamHandle.class, stream).value() == DEFAULT_STREAM ? null : through.go();
  }

  private static void lifetimes(List<Mutant> all) {
    String area = "lifetimes";
    all.add(
        policy(
            "leaks device memory",
            area,
            Set.of(Rule.CLS_03, Rule.DEV_03),
            () -> Wrong.forgets("DevicePort.free")));
    all.add(
        policy(
            "leaks an event",
            area,
            Set.of(Rule.CLS_03, Rule.THR_04),
            () -> Wrong.forgets("DevicePort.destroyEvent")));
    all.add(
        policy(
            "leaks a stream",
            area,
            Set.of(Rule.CLS_03, Rule.THR_04),
            () -> Wrong.forgets("DevicePort.destroyStream")));
    all.add(
        new Mutant(
            "closes under copies in flight",
            area,
            Set.of(Rule.CLS_05, Rule.CPY_12, Rule.SLT_05),
            Mutant::plain,
            (machine, tap) ->
                StandardBackend.interposing(
                    neverWaits(machine),
                    () -> StandardBackend.interposing(tap, machine::intoBackend))));
    all.add(
        policy(
            "never closes a device",
            area,
            Set.of(Rule.CLS_06),
            () -> Wrong.forgets("DevicePort.close")));
    all.add(
        policy(
            "closes the driver twice",
            area,
            Set.of(Rule.CLS_06),
            () ->
                Wrong.call(
                    "AcceleratorDriver.close",
                    (_, through) -> {
                      through.go();
                      return through.go();
                    })));
  }

  /** Thinks that all copies are done. The machine waits in secret, lest they write nowhere. */
  private static Tap neverWaits(SimMachine machine) {
    Twist drained =
        (_, through) -> {
          long before = machine.calls().ctxGetCurrent();
          long[] context = new long[1];
          machine.calls().primaryCtxRetain(context, 0);
          machine.calls().ctxSetCurrent(context[0]);
          machine.calls().ctxSynchronize();
          machine.calls().ctxSetCurrent(before);
          machine.calls().primaryCtxRelease(0);
          return through.go();
        };
    return Wrong.calls(
        Map.of(
            "DevicePort.eventPassed",
            (_, _) -> true,
            "DevicePort.streamIdle",
            (_, _) -> true,
            "DevicePort.awaitEvent",
            (_, _) -> null,
            "DevicePort.awaitStream",
            (_, _) -> null,
            UNREGISTER,
            drained,
            "DevicePort.free",
            drained,
            "HostKernel.unmap",
            drained));
  }

  private static void virtualMemory(List<Mutant> all) {
    String area = "virtual memory";
    all.add(
        policy(
            "leaks a physical handle",
            area,
            Set.of(Rule.VMM_11, Rule.VMM_06),
            () -> Wrong.forgets("VirtualMemoryPort.release")));
    all.add(
        policy(
            "gives no addresses back",
            area,
            Set.of(Rule.VMM_01, Rule.VMM_11),
            () -> Wrong.forgets("VirtualMemoryPort.freeAddresses")));
    all.add(
        policy(
            "does not zero new blocks",
            area,
            Set.of(Rule.VMM_02, Rule.VMM_06),
            () -> Wrong.forgets("DevicePort.fill")));
    all.add(
        policy(
            "takes no refused commit back",
            area,
            Set.of(Rule.VMM_12),
            PolicyMutants::takesNothingBack));
    all.add(
        policy(
            "consolidates without the contents",
            area,
            Set.of(Rule.VMM_07),
            () ->
                Wrong.call(
                    "DevicePort.copyEach",
                    (call, through) ->
                        call.argument(CopyTable.class, 0).direction()
                                == CopyTable.Direction.DEVICE_TO_DEVICE
                            ? null
                            : through.go())));
    all.add(
        policy(
            "exports a page more as a dma-buf than it says",
            area,
            Set.of(Rule.EXP_08),
            () ->
                Wrong.call(
                    "DmaBufPort.exportDmaBuf",
                    (call, through) -> {
                      DeviceRange range = call.argument(DeviceRange.class, 0);
                      return through.goWith(new DeviceRange(range.address(), range.bytes() + 4096));
                    })));
    all.add(
        policy(
            "makes all memory exportable",
            area,
            Set.of(Rule.EXP_03),
            () ->
                Wrong.call(
                    "VirtualMemoryPort.create",
                    (call, through) ->
                        through.goWith(
                            call.argument(Object.class, 0),
                            new PhysicalForm(Set.of(HandleKind.POSIX_FD), RdmaWish.NO)))));
    all.add(
        policy(
            "exports one allocation for all segments",
            area,
            Set.of(Rule.EXP_02),
            () -> {
              AtomicReference<PhysicalHandle> first = new AtomicReference<>();
              return Wrong.call(
                  "VirtualMemoryPort.exportFileDescriptor",
                  (call, through) -> {
                    first.compareAndSet(null, call.argument(PhysicalHandle.class, 0));
                    return through.goWith(first.get());
                  });
            }));
  }

  /** What was made is forgotten from the kit's refusal until something is made again. */
  private static Tap takesNothingBack() {
    AtomicBoolean refused = new AtomicBoolean();
    Twist makes =
        (_, through) -> {
          try {
            Object made = through.go();
            refused.set(false);
            return made;
          } catch (DriverException told) {
            refused.set(told.code() == KITS_CODE);
            throw told;
          }
        };
    Twist undoes = (_, through) -> refused.get() ? null : through.go();
    return Wrong.calls(
        Map.of(
            "VirtualMemoryPort.create", makes,
            "VirtualMemoryPort.map", makes,
            "VirtualMemoryPort.allowAccess", makes,
            "DevicePort.fill", makes,
            "VirtualMemoryPort.unmap", undoes,
            "VirtualMemoryPort.release", undoes));
  }

  private static void failures(List<Mutant> all) {
    String area = "failures";
    all.add(
        policy(
            "swallows the driver's refusal of a range",
            area,
            Set.of(Rule.FLT_01, Rule.FLT_07),
            () -> Wrong.swallows(REGISTER)));
    all.add(
        policy(
            "forgets that an unregister failed and unmaps",
            area,
            Set.of(Rule.FLT_03),
            () -> Wrong.swallows(UNREGISTER)));
    all.add(
        policy(
            "never tries a quarantined range again",
            area,
            Set.of(Rule.FLT_04),
            () -> {
              Map<Long, DriverException> failed = new ConcurrentHashMap<>();
              return Wrong.call(
                  UNREGISTER,
                  (call, through) -> {
                    long address = call.argument(MemorySegment.class, 0).address();
                    DriverException before = failed.get(address);
                    if (before != null) {
                      throw before;
                    }
                    try {
                      return through.go();
                    } catch (DriverException refused) {
                      failed.put(address, refused);
                      throw refused;
                    }
                  });
            }));
    all.add(
        policy(
            "never forgets a refusal",
            area,
            Set.of(Rule.FLT_02),
            () -> {
              AtomicReference<@Nullable DriverException> first = new AtomicReference<>();
              return Wrong.call(
                  REGISTER,
                  (_, through) -> {
                    DriverException before = first.get();
                    if (before != null) {
                      throw before;
                    }
                    try {
                      return through.go();
                    } catch (DriverException refused) {
                      first.set(refused);
                      throw refused;
                    }
                  });
            }));
    all.add(
        policy(
            "asks again in silence where a mapping was refused",
            area,
            Set.of(Rule.FLT_11),
            () ->
                Wrong.call(
                    "HostKernel.map",
                    (_, through) -> {
                      try {
                        return through.go();
                      } catch (HostKernelException refused) {
                        return through.go();
                      }
                    })));
    all.add(
        policy(
            "swallows that a stream could not be made to wait",
            area,
            Set.of(Rule.FLT_10),
            () -> Wrong.swallows("DevicePort.streamWait")));
    all.add(
        policy(
            "swallows a refused copy",
            area,
            Set.of(Rule.FLT_08),
            () -> Wrong.swallows("DevicePort.copyEach")));
    all.add(
        policy(
            "names another pair than the driver does",
            area,
            Set.of(Rule.BAT_05),
            () ->
                Wrong.call(
                    "BatchCopyPort.copyBatch",
                    (call, through) -> {
                      try {
                        return through.go();
                      } catch (DriverException refused) {
                        throw refused.atEntry(call.argument(Long.class, 1));
                      }
                    })));
    all.add(
        policy(
            "calls a lost device something else",
            area,
            Set.of(Rule.FLT_12),
            () ->
                Wrong.call(
                    "DevicePort.allocate",
                    (_, through) -> {
                      try {
                        return through.go();
                      } catch (DriverException lost) {
                        throw new DriverException(
                            lost.backend(),
                            lost.operation(),
                            lost.code(),
                            lost.codeName(),
                            DriverFault.OTHER);
                      }
                    })));
  }

  private static void placement(List<Mutant> all) {
    String area = "placement";
    all.add(
        policy(
                "binds the wrong node",
                area,
                Set.of(Rule.NUM_01, Rule.NUM_04, Rule.NUM_06, Rule.NUM_08),
                PolicyMutants::otherNode)
            .on(Mutant::twoNodes));
    all.add(
        policy("binds nothing", area, Set.of(Rule.NUM_06), () -> Wrong.forgets("HostKernel.bind"))
            .on(Mutant::twoNodes));
    all.add(
        policy(
                "interleaves over one node",
                area,
                Set.of(Rule.NUM_03),
                () ->
                    Wrong.call(
                        "HostKernel.bind",
                        (call, through) ->
                            through.goWith(
                                call.argument(Object.class, 0),
                                call.argument(HostKernel.NodeMode.class, 1),
                                Set.of(0))))
            .on(Mutant::twoNodes));
    all.add(
        policy(
                "unmaps no huge pages",
                area,
                Set.of(Rule.HUG_06),
                () -> Wrong.forgets("HostKernel.unmap"))
            .on(Mutant::twoNodes));
    all.add(
        policy(
                "registers huge pages in halves of one",
                area,
                Set.of(Rule.HUG_04),
                () ->
                    Wrong.call(
                        REGISTER, Wrong.range(range -> range.asSlice(0, range.byteSize() - 4096))))
            .on(Mutant::twoNodes));
    all.add(
        policy(
            "swallows that a policy was refused",
            area,
            Set.of(Rule.NUM_09),
            () ->
                Wrong.call(
                    "HostKernel.bind",
                    (_, through) -> {
                      try {
                        return through.go();
                      } catch (HostKernelException refused) {
                        return null;
                      }
                    })));
  }

  /** Asks for another node than it was told, and says that pages are where they were wanted. */
  static Tap otherNode() {
    return Wrong.call(
        "HostKernel.bind",
        (call, through) -> {
          Set<?> nodes = call.argument(Set.class, 2);
          Set<Integer> other = nodes.equals(Set.of(0)) ? Set.of(1) : Set.of(0);
          return through.goWith(
              call.argument(Object.class, 0), call.argument(HostKernel.NodeMode.class, 1), other);
        });
  }
}
