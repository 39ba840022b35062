package io.holdfast.backend.cpusim;

import io.holdfast.Backend;
import io.holdfast.BackendKind;
import io.holdfast.Device;
import io.holdfast.backend.cpusim.driver.SimSchedule;
import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.Completion;
import io.holdfast.copy.CopyOptions;
import io.holdfast.copy.CopyPath;
import io.holdfast.device.DeviceAllocation;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.device.DeviceStream;
import io.holdfast.device.Order;
import io.holdfast.error.BusyException;
import io.holdfast.host.HostRequest;
import io.holdfast.layout.Arrangement;
import io.holdfast.layout.BlockShape;
import io.holdfast.pin.CutPolicy;
import io.holdfast.pin.HostBlocks.Access;
import io.holdfast.pin.PinPacing;
import io.holdfast.pin.PinRequest;
import io.holdfast.pin.SlotLease;
import io.holdfast.pool.HostPool;
import io.holdfast.pool.PoolOptions;
import io.holdfast.spi.AcceleratorDriver;
import io.holdfast.spi.BatchCopyPort;
import io.holdfast.spi.CopyTable;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.StandardBackend;
import io.holdfast.spi.StreamHandle;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;

/**
 * One race by seed: two engine streams write blocks of their own, store and load them through one
 * pool, and somewhere the pool is closed. What the bytes must be is known from the order that each
 * stream was promised.
 *
 * <p>The seed decides the calls and the order in which the device does them. A bug can be planted
 * between the copy engine and the driver, where a mistake of the engine would show.
 */
final class Race {
  /** What is wrong below the copy engine. */
  enum Bug {
    /** Nothing. */
    NONE,
    /** Copy streams do not wait for what they were told to wait for. */
    NO_EVENT_WAIT,
    /** Work counts as done when it was submitted, so that closing comes too early. */
    DONE_TOO_EARLY,
    /** Stores read what they copy before the stream has made it. */
    SOURCE_READ_TOO_EARLY,
    /** Neighbouring rows are merged although a registration ends between them. */
    RUN_OVER_A_CUT
  }

  private static final int BLOCKS = 8; // of which each stream has half
  private static final int SLOTS = 12;
  private static final int CALLS = 14;
  private static final BlockShape SHAPE = BlockShape.of(2, 4096);
  private static final PinRequest CUT_OFTEN =
      PinRequest.strict()
          .sliceBytes(16 << 10)
          .capBytes(16 << 10)
          .cuts(CutPolicy.NEVER_INSIDE_BLOCK)
          .pacing(PinPacing.flatOut());

  private final Thread racer = Thread.currentThread();
  private final Random random;
  private final Bug bug;
  private final SimSchedule schedule;
  private final byte[] device = new byte[BLOCKS];
  private final byte[] host = new byte[SLOTS];
  private final List<Completion> submitted = new ArrayList<>();
  private final List<String> wrong = new ArrayList<>();
  private byte next = 1;

  Race(long seed, Bug bug) {
    this.random = new Random(seed);
    this.bug = bug;
    this.schedule = SimSchedule.seeded(seed).askedOnlyBy(racer);
  }

  /** What was chosen while it ran. */
  int[] choices() {
    return schedule.choices();
  }

  /** The first thing that went wrong, or nothing; on the thread that made it. */
  Optional<String> run() {
    try (SimMachine machine =
        SimMachine.builder()
            .schedule(schedule)
            .devices(1, 1L << 30)
            .leaks(LeakPolicy.IGNORE)
            .build()) {
      try {
        race(machine);
        wrong.addAll(machine.violations());
        if (!machine.audit().clean()) {
          wrong.add(machine.audit().toString());
        }
      } catch (RuntimeException thrown) {
        wrong.add(
            thrown.getClass().getSimpleName()
                + ": "
                + String.valueOf(thrown.getMessage()).replaceAll("0x[0-9a-f]+", "an address"));
      }
    }
    return wrong.stream().findFirst();
  }

  private void race(SimMachine machine) {
    try (Backend backend =
            StandardBackend.builder("race", planted(machine.driver()))
                .kind(BackendKind.SIMULATOR)
                .kernel(machine.kernel())
                .build();
        Device opened = backend.open(0);
        SimEngine engine = machine.engineOnSharedContext(0)) {
      DeviceAllocation memory = opened.memory().allocate(BLOCKS * SHAPE.bytes());
      DeviceBlocks blocks = DeviceBlocks.of(memory.segment(), SHAPE.blockMajor(BLOCKS));
      HostPool pool =
          HostPool.open(
              opened,
              blocks,
              HostRequest.ofBytes(SLOTS * SHAPE.bytes()),
              PoolOptions.defaults()
                  .pin(CUT_OFTEN)
                  .arrangement(Arrangement.BLOCK_MAJOR)
                  .copy(copies()));
      long base = memory.segment().rawAddress();
      engine.write(base, new byte[(int) (BLOCKS * SHAPE.bytes())]);
      long[] streams = {engine.newStream(), engine.newStream()};
      List<DeviceStream> wrapped = new ArrayList<>();
      for (long stream : streams) {
        wrapped.add(opened.wrapStream(stream));
      }
      zero(pool);
      int calls = 1 + random.nextInt(CALLS);
      for (int call = 0; call < calls && wrong.isEmpty(); call++) {
        int mine = random.nextInt(2);
        one(machine, engine, pool, base, mine, streams[mine], wrapped.get(mine));
      }
      pool.close();
      machine.calls().advanceAll();
      check(engine, base, "after closing");
      wrapped.forEach(DeviceStream::close);
      memory.close();
    }
  }

  private CopyOptions copies() {
    return bug == Bug.SOURCE_READ_TOO_EARLY
        ? CopyOptions.auto().path(CopyPath.BATCH)
        : CopyOptions.auto();
  }

  private static void zero(HostPool pool) {
    for (int slot = 0; slot < SLOTS; slot++) {
      try (SlotLease lease = pool.lease(slot, Access.WRITE)) {
        lease.part(0).fill((byte) 0);
        lease.part(1).fill((byte) 0);
      }
    }
  }

  /** One call of the stream `mine`, on its own half of blocks and slots. */
  private void one(
      SimMachine machine,
      SimEngine engine,
      HostPool pool,
      long base,
      int mine,
      long stream,
      DeviceStream order) {
    int block = mine * BLOCKS / 2 + random.nextInt(BLOCKS / 2 - 1);
    int slot = mine * SLOTS / 2 + random.nextInt(SLOTS / 2 - 1);
    switch (random.nextInt(8)) {
      case 0, 1 -> {
        device[block] = next++;
        engine.fill(base + block * SHAPE.bytes(), SHAPE.bytes(), device[block], stream);
      }
      case 2, 3 -> { // two neighbours, which lie across a cut every other time
        host[slot] = device[block];
        host[slot + 1] = device[block + 1];
        submitted.add(
            pool.store(
                BlockCopies.device(block, block + 1).host(slot, slot + 1), Order.asIfOn(order)));
      }
      case 4 -> {
        device[block] = host[slot];
        device[block + 1] = host[slot + 1];
        submitted.add(
            pool.load(
                BlockCopies.device(block, block + 1).host(slot, slot + 1), Order.asIfOn(order)));
      }
      case 5 -> { // somebody looks, or waits
        if (!submitted.isEmpty()) {
          Completion one = submitted.get(random.nextInt(submitted.size()));
          if (random.nextInt(4) > 0) {
            var _ = one.isDone();
          } else {
            one.await();
          }
        }
      }
      case 6 -> { // what is given out has been stored
        try {
          checkSlot(pool, slot);
        } catch (BusyException stillWritten) {
          // as it should be while a store is on its way
        }
      }
      default -> {
        machine.calls().advanceAll();
        check(engine, base, "when all is done");
        for (int one = 0; one < SLOTS; one++) {
          checkSlot(pool, one);
        }
      }
    }
  }

  private void check(SimEngine engine, long base, String when) {
    byte[] there = engine.read(base, (int) (BLOCKS * SHAPE.bytes()));
    for (int at = 0; at < there.length; at++) {
      int block = (int) (at / SHAPE.bytes());
      if (there[at] != device[block]) {
        wrong.add("block %d has %d and not %d %s".formatted(block, there[at], device[block], when));
        return;
      }
    }
  }

  private void checkSlot(HostPool pool, int slot) {
    try (SlotLease lease = pool.lease(slot, Access.READ)) {
      for (int part = 0; part < 2; part++) {
        MemorySegment bytes = lease.part(part);
        for (long at = 0; at < bytes.byteSize(); at++) {
          byte there = bytes.get(ValueLayout.JAVA_BYTE, at);
          if (there != host[slot]) {
            wrong.add("slot %d has %d and not %d".formatted(slot, there, host[slot]));
            return;
          }
        }
      }
    }
  }

  // ---- bugs

  private AcceleratorDriver planted(AcceleratorDriver driver) {
    if (bug == Bug.NONE) {
      return driver;
    }
    return between(
        AcceleratorDriver.class,
        driver,
        (method, arguments) -> null,
        result -> result instanceof DevicePort port ? bugged(port) : result);
  }

  private DevicePort bugged(DevicePort port) {
    return between(
        DevicePort.class, port, (method, arguments) -> bug(port, method, arguments), r -> r);
  }

  /** What the bug answers instead of the port, or null where it has no part in the call. */
  private Object bug(DevicePort port, String method, Object[] arguments) {
    return switch (bug) {
      case NO_EVENT_WAIT -> method.equals("streamWait") ? NOTHING : null;
      case DONE_TOO_EARLY ->
          switch (method) {
            case "eventPassed", "streamIdle" -> Thread.currentThread() == racer ? true : null;
            case "awaitEvent", "awaitStream" -> NOTHING;
            case "hostAllocations" -> Optional.empty(); // freeing such waits for the device
            default -> null;
          };
      case SOURCE_READ_TOO_EARLY ->
          switch (method) {
            case "batchCopies" -> port.batchCopies().map(Race::atAnyTime);
            case "kernelCopies", "pitchedCopies" -> Optional.empty();
            default -> null;
          };
      case RUN_OVER_A_CUT ->
          switch (method) {
            case "batchCopies", "kernelCopies", "pitchedCopies" -> Optional.empty();
            case "copyEach" -> {
              merged(
                  port,
                  (CopyTable) arguments[0],
                  (long) arguments[1],
                  (long) arguments[2],
                  (StreamHandle) arguments[3]);
              yield NOTHING;
            }
            default -> null;
          };
      case NONE -> null;
    };
  }

  private static BatchCopyPort atAnyTime(BatchCopyPort batch) {
    return new BatchCopyPort() {
      @Override
      public int maxRows() {
        return batch.maxRows();
      }

      @Override
      public void copyBatch(
          CopyTable table, long from, long to, SourceReads reads, StreamHandle stream) {
        batch.copyBatch(table, from, to, SourceReads.ANY_TIME, stream);
      }
    };
  }

  private static void merged(
      DevicePort port, CopyTable rows, long from, long to, StreamHandle stream) {
    long last = from;
    for (long row = from + 1; row < to; row++) {
      boolean goesOn =
          rows.destination(row) == rows.destination(last) + rows.bytes(last)
              && rows.source(row) == rows.source(last) + rows.bytes(last);
      if (goesOn) {
        rows.set(
            last, rows.destination(last), rows.source(last), rows.bytes(last) + rows.bytes(row));
      } else {
        last++;
        rows.set(last, rows.destination(row), rows.source(row), rows.bytes(row));
      }
    }
    port.copyEach(rows, from, last + 1, stream);
  }

  private static final Object NOTHING = new Object();

  private interface Instead {
    Object answer(String method, Object[] arguments);
  }

  private interface After {
    Object change(Object result);
  }

  private static <T> T between(Class<T> type, T real, Instead instead, After after) {
    return type.cast(
        Proxy.newProxyInstance(
            Race.class.getClassLoader(),
            new Class<?>[] {type},
            (proxy, method, arguments) -> {
              Object answer = instead.answer(method.getName(), arguments);
              if (answer != null) {
                return answer == NOTHING ? null : answer;
              }
              try {
                return after.change(method.invoke(real, arguments));
              } catch (InvocationTargetException thrown) {
                throw thrown.getCause();
              }
            }));
  }
}
