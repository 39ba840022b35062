package io.holdfast.backend.cpusim;

import static io.holdfast.device.Order.after;
import static io.holdfast.device.Order.asIfOn;
import static io.holdfast.device.Order.unordered;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.Backend;
import io.holdfast.Device;
import io.holdfast.backend.cpusim.SimEngine.CaptureMode;
import io.holdfast.backend.cpusim.driver.Blocker;
import io.holdfast.backend.cpusim.driver.FaultScript;
import io.holdfast.backend.cpusim.driver.Operation;
import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.Completion;
import io.holdfast.copy.CopyOptions;
import io.holdfast.copy.CopyPath;
import io.holdfast.copy.CopyRoute;
import io.holdfast.device.DeviceAllocation;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.device.DeviceStream;
import io.holdfast.error.BusyException;
import io.holdfast.error.HoldfastException;
import io.holdfast.host.HostRequest;
import io.holdfast.layout.BlockShape;
import io.holdfast.pin.HostBlocks.Access;
import io.holdfast.pin.PinPacing;
import io.holdfast.pin.PinRequest;
import io.holdfast.pin.SlotLease;
import io.holdfast.pool.HostPool;
import io.holdfast.pool.PoolOptions;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Copies against producers, each other and closes, on simulated devices that work by themselves.
 */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class CopyRaceTest {
  private static final int BYTES = 16 << 10;
  private static final BlockShape SHAPE = BlockShape.of(1, BYTES);
  private static final int BLOCKS = 24;

  private final SimMachine machine = SimMachine.builder().leaks(LeakPolicy.FAIL).build();
  private final Backend backend = machine.backend();
  private final Device device = backend.open(0);
  private final SimEngine engine = machine.engineOnSharedContext(0);
  private final DeviceAllocation memory = device.memory().allocate(SHAPE.bytes() * BLOCKS);
  private final DeviceBlocks blocks = DeviceBlocks.of(memory.segment(), SHAPE.layerMajor(BLOCKS));

  @AfterEach
  void nothingIsLeft() {
    engine.close();
    backend.close();
    machine.close();
  }

  /** Cut inside blocks now and then: 100 KiB are no whole number of blocks. */
  private HostPool open() {
    PinRequest cut = PinRequest.strict().sliceBytes(100 << 10).pacing(PinPacing.flatOut());
    return HostPool.open(
        device, blocks, HostRequest.ofBytes(8L * BYTES), PoolOptions.defaults().pin(cut));
  }

  private long address(long block) {
    return memory.segment().rawAddress() + block * BYTES;
  }

  private static long wrongBytes(HostPool pool, long slot, int value) {
    try (SlotLease lease = pool.lease(slot, Access.READ)) {
      return otherThan(lease.part(0), (byte) value);
    }
  }

  private static long otherThan(MemorySegment bytes, byte value) {
    long wrong = 0;
    for (long at = 0; at < bytes.byteSize(); at++) {
      wrong += bytes.get(ValueLayout.JAVA_BYTE, at) == value ? 0 : 1;
    }
    return wrong;
  }

  // ---- a producer that is late

  private int mismatches(boolean ordered) {
    int mismatches = 0;
    long raw = engine.newStream();
    DeviceStream producer = device.wrapStream(raw);
    try (HostPool pool = open()) {
      for (int iteration = 1; iteration <= 150; iteration++) {
        Completion stored;
        try (Blocker late = engine.block(raw)) {
          engine.fill(address(3), BYTES, (byte) iteration, raw);
          stored =
              pool.store(BlockCopies.device(3).host(5), ordered ? after(producer) : unordered());
          if (ordered) {
            assertFalse(stored.isDone());
          } else {
            stored.await(); // it need not wait, so it copies what was there before
          }
          late.release();
        }
        stored.await();
        mismatches += wrongBytes(pool, 5, iteration) == 0 ? 0 : 1;
        producer.await();
      }
    }
    producer.close();
    engine.destroyStream(raw);
    return mismatches;
  }

  @Test
  void aHundredAndFiftyStoresBehindALateProducerAreClean() {
    assertEquals(0, mismatches(true));
  }

  @Test
  void theSameWithoutTheOrderCorruptsEveryTime() {
    assertEquals(150, mismatches(false));
  }

  // ---- everybody at once

  /**
   * Threads store and load blocks of their own over slots that all share, on routes of theirs that
   * come and go, with orders refused by captures in between. Blocks are of one byte each, so a copy
   * that another one ran into shows.
   */
  @ParameterizedTest
  @ValueSource(longs = {1, 2})
  void noCopyRunsIntoAnother(long seed) {
    try (HostPool pool = open()) {
      for (int slot = 0; slot < 8; slot++) {
        engine.fill(address(slot), BYTES, (byte) slot, 0);
        pool.store(BlockCopies.device(slot).host(slot), after(device.legacyDefaultStream()))
            .await();
      }
      AtomicLong torn = new AtomicLong();
      AtomicLong captures = new AtomicLong();
      List<CompletableFuture<Void>> workers = new ArrayList<>();
      for (int worker = 0; worker < 3; worker++) {
        Worker one = new Worker(pool, worker * 8, new Random(seed * 31 + worker), torn, captures);
        CompletableFuture<Void> end = new CompletableFuture<>();
        workers.add(end);
        var _ = Thread.ofPlatform().daemon().start(() -> complete(end, one));
      }
      for (CompletableFuture<Void> end : workers) {
        var _ = end.orTimeout(2, TimeUnit.MINUTES).join(); // a lost wake-up is a time-out
      }
      assertEquals(0, torn.get());
      assertTrue(captures.get() > 0, "no order was refused by a capture");
    }
    assertEquals(0, machine.audit().registrations());
  }

  private static void complete(CompletableFuture<Void> end, Runnable task) {
    try {
      task.run();
      end.complete(null);
    } catch (Throwable failure) {
      end.completeExceptionally(failure);
    }
  }

  /** One thread's blocks and routes. */
  private final class Worker implements Runnable {
    private final HostPool pool;
    private final int first;
    private final Random random;
    private final AtomicLong torn;
    private final AtomicLong captures;
    private final long raw = engine.newStream();
    private final DeviceStream stream = device.wrapStream(raw);

    Worker(HostPool pool, int first, Random random, AtomicLong torn, AtomicLong captures) {
      this.pool = pool;
      this.first = first;
      this.random = random;
      this.torn = torn;
      this.captures = captures;
    }

    @Override
    public void run() {
      for (int round = 0; round < 12; round++) {
        CopyOptions options =
            CopyOptions.auto()
                .path(random.nextBoolean() ? CopyPath.BATCH : CopyPath.KERNEL)
                .maxBatchEntries(1 + random.nextInt(3));
        try (CopyRoute route = device.copyEngine().route(blocks, pool, options)) {
          for (int step = 0; step < 12; step++) {
            step(route);
          }
        }
      }
      stream.close();
      engine.destroyStream(raw);
    }

    private void step(CopyRoute route) {
      BlockCopies copies = BlockCopies.withCapacity(3);
      List<Integer> slots = new ArrayList<>(List.of(0, 1, 2, 3, 4, 5, 6, 7));
      Collections.shuffle(slots, random);
      for (int pair = 0; pair < 3; pair++) {
        copies.add(first + 2L * pair + random.nextInt(2), slots.get(pair));
      }
      switch (random.nextInt(4)) {
        case 0 -> {
          for (int pair = 0; pair < copies.pairs(); pair++) {
            engine.fill(address(copies.deviceBlock(pair)), BYTES, (byte) random.nextInt(), raw);
          }
          Completion stored = route.store(copies, after(stream));
          stream.waitFor(stored); // the next fill comes behind it
        }
        case 1 -> {
          var _ = route.load(copies, asIfOn(stream));
        }
        case 2 -> {
          var _ = route.load(copies, asIfOn(stream));
          engine.synchronize(raw);
          for (int pair = 0; pair < copies.pairs(); pair++) {
            byte[] loaded = engine.read(address(copies.deviceBlock(pair)), BYTES);
            torn.addAndGet(otherThan(MemorySegment.ofArray(loaded), loaded[0]));
          }
        }
        default -> captured(route, copies);
      }
    }

    private void captured(CopyRoute route, BlockCopies copies) {
      long capturing = engine.newStream();
      long event = engine.newEvent();
      engine.beginCapture(capturing, CaptureMode.THREAD_LOCAL);
      engine.record(event, capturing);
      assertThrows(BusyException.class, () -> route.store(copies, after(device.wrapEvent(event))));
      engine.endCapture(capturing); // unharmed, or it would throw
      engine.destroyEvent(event);
      engine.destroyStream(capturing);
      captures.incrementAndGet();
    }
  }

  // ---- a close in the midst

  @ParameterizedTest
  @EnumSource(
      value = CopyPath.class,
      names = {"LOOP", "BATCH", "KERNEL", "PITCHED"})
  void aCloseAmongSubmissionsEndsThemAllAndRefusesTheRest(CopyPath path) throws Exception {
    for (int round = 0; round < 10; round++) {
      HostPool pool = open();
      CopyRoute route = device.copyEngine().route(blocks, pool, CopyOptions.auto().path(path));
      CountDownLatch started = new CountDownLatch(2);
      List<Completion> accepted = new ArrayList<>();
      CompletableFuture<Void> end = new CompletableFuture<>();
      var _ =
          Thread.ofPlatform()
              .daemon()
              .start(
                  () ->
                      complete(
                          end,
                          () -> {
                            for (int i = 0; ; i++) {
                              try {
                                BlockCopies copies =
                                    BlockCopies.device(i % 8, 8 + i % 8).host(i % 8, (i + 3) % 8);
                                accepted.add(
                                    i % 2 == 0
                                        ? route.store(copies, unordered())
                                        : route.load(copies, unordered()));
                                started.countDown();
                              } catch (IllegalStateException closing) {
                                return;
                              }
                            }
                          }));
      assertTrue(started.await(1, TimeUnit.MINUTES));
      pool.close();
      var _ = end.orTimeout(1, TimeUnit.MINUTES).join();
      for (Completion one : accepted) {
        assertTrue(one.isDone());
      }
      assertEquals(0, machine.audit().registrations());
    }
  }

  // ---- calls that fail

  /** The k-th call of each kind is refused: told, nothing left, and the next copy is right. */
  @ParameterizedTest
  @EnumSource(
      value = Operation.class,
      names = {
        "MEMCPY_BATCH_ASYNC",
        "EVENT_RECORD",
        "EVENT_CREATE",
        "EVENT_QUERY",
        "STREAM_WAIT_EVENT",
        "STREAM_CREATE",
        "STREAM_IS_CAPTURING"
      })
  void theKthCallOfACopyFails(Operation operation) {
    long raw = engine.newStream();
    DeviceStream stream = device.wrapStream(raw);
    long strikes = 0;
    for (int call = 1; call <= 8; call++) {
      HostPool pool = open();
      machine.faults().add(FaultScript.failCall(operation, call, 999));
      try {
        CopyRoute route =
            device.copyEngine().route(blocks, pool, CopyOptions.auto().maxBatchEntries(1));
        for (int round = 0; round < 3; round++) {
          attempt(() -> route.store(BlockCopies.device(0, 2).host(1, 3), after(stream)).await());
          attempt(() -> route.load(BlockCopies.device(4, 6).host(3, 1), asIfOn(stream)).await());
        }
      } catch (HoldfastException refused) {
        assertTrue(refused.getMessage().contains("999"), refused.getMessage());
      }
      strikes += machine.faults().strikes();
      machine.faults().clear();
      attempt(() -> engine.synchronize(raw));
      engine.fill(address(7), BYTES, (byte) call, raw);
      pool.store(BlockCopies.device(7).host(3), after(stream)).await();
      assertEquals(0, wrongBytes(pool, 3, call), operation + ", call " + call);
      pool.close();
      assertEquals(0, machine.audit().registrations());
    }
    assertTrue(strikes >= 2, operation + " is hardly ever called");
    stream.close();
    engine.destroyStream(raw);
  }

  private static void attempt(Runnable step) {
    try {
      step.run();
    } catch (HoldfastException told) {
      assertTrue(
          told.getMessage().contains("999") || told instanceof BusyException, told.toString());
    }
  }
}
