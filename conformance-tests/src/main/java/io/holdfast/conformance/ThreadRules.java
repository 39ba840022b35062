package io.holdfast.conformance;

import static io.holdfast.device.Order.after;
import static io.holdfast.device.Order.unordered;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.Device;
import io.holdfast.conformance.tap.Call;
import io.holdfast.conformance.tap.Twist;
import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.Completion;
import io.holdfast.device.DeviceAllocation;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.device.DeviceEvent;
import io.holdfast.device.DeviceStream;
import io.holdfast.host.HostRequest;
import io.holdfast.pin.HostBlocks.Access;
import io.holdfast.pool.HostPool;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Threads, virtual ones above all. */
abstract class ThreadRules extends Rules {
  /** Calls that can take longer than some microseconds. */
  private static final String[] BLOCKING = {
    "DevicePort.register",
    "DevicePort.unregister",
    "DevicePort.allocate",
    "DevicePort.free",
    "DevicePort.awaitStream",
    "DevicePort.awaitEvent",
    "AcceleratorDriver.open",
    "HostAllocationPort.allocate",
    "HostAllocationPort.free"
  };

  /** Calls of a submission, made in the caller's thread. */
  private static final List<String> INLINE =
      List.of(
          "DevicePort.copyEach",
          "BatchCopyPort.copyBatch",
          "KernelCopyPort.copyByKernel",
          "PitchedCopyPort.copyRows",
          "DevicePort.recordEvent",
          "DevicePort.streamWait",
          "DevicePort.captureState",
          "DevicePort.originOf");

  ThreadRules(Conformance kit) {
    super(kit);
  }

  /** Runs numbered work on that many virtual threads at once; what it threw. */
  private List<Throwable> onVirtualThreads(int threads, IntConsumer work) {
    List<Throwable> failures = new CopyOnWriteArrayList<>();
    List<Thread> all = new ArrayList<>();
    for (int i = 0; i < threads; i++) {
      int mine = i;
      all.add(
          Thread.ofVirtual()
              .start(
                  () -> {
                    try {
                      work.accept(mine);
                    } catch (Throwable failure) {
                      failures.add(failure);
                    }
                  }));
    }
    for (Thread one : all) {
      join(one);
    }
    return failures;
  }

  @Test
  @Covers(Rule.THR_01)
  final void thr01_many_virtual_threads_copy_at_once() {
    int threads = 32;
    AtomicInteger done = new AtomicInteger();
    List<Throwable> failures = new CopyOnWriteArrayList<>();
    withPool(
        threads,
        2L * threads,
        pool ->
            failures.addAll(
                onVirtualThreads(
                    threads,
                    mine -> {
                      for (int round = 0; round < 5; round++) {
                        write(pool, mine, 31L * mine + round);
                        Completion there =
                            pool.load(BlockCopies.device(mine).host(mine), unordered());
                        pool.store(BlockCopies.device(mine).host(threads + mine), after(there))
                            .await();
                        check(pool, threads + mine, 31L * mine + round);
                      }
                      done.incrementAndGet();
                    })));
    assertEquals(List.of(), failures);
    assertEquals(threads, done.get());
  }

  @Test
  @Covers(Rule.THR_02)
  final void thr02_a_virtual_thread_that_waits_holds_no_carrier() {
    int waiting = 4 * Runtime.getRuntime().availableProcessors();
    withPool(
        waiting,
        waiting,
        pool -> {
          pool.store(BlockCopies.device(0).host(0), unordered()).await();
          List<Thread> all = new ArrayList<>();
          List<Throwable> failures = new CopyOnWriteArrayList<>();
          AtomicInteger submitted = new AtomicInteger();
          AtomicInteger finished = new AtomicInteger();
          try (Held held = new Held()) {
            for (int i = 0; i < waiting; i++) {
              int mine = i;
              all.add(
                  Thread.ofVirtual()
                      .uncaughtExceptionHandler((_, failure) -> failures.add(failure))
                      .start(
                          () -> {
                            Completion done =
                                pool.store(BlockCopies.device(mine).host(mine), unordered());
                            submitted.incrementAndGet();
                            done.await();
                            finished.incrementAndGet();
                          }));
            }
            until(() -> submitted.get() == waiting, "waiting threads kept others from submitting");
            until(
                () -> all.stream().allMatch(one -> one.getState() != Thread.State.RUNNABLE),
                "threads that wait do not park");
            CountDownLatch another = new CountDownLatch(1);
            all.add(Thread.ofVirtual().start(another::countDown));
            await(another, "no carrier was free for another virtual thread");
            assertEquals(0, finished.get());
            held.release();
            for (Thread one : all) {
              join(one);
            }
          }
          assertEquals(List.of(), failures);
          assertEquals(waiting, finished.get());
        });
  }

  @Test
  @Covers(Rule.THR_03)
  final void thr03_calls_that_can_block_run_on_platform_threads() {
    tap.forget();
    List<Throwable> failures = new CopyOnWriteArrayList<>();
    Thread virtual =
        Thread.ofVirtual()
            .start(
                () -> {
                  try (Device second = backend.open(0);
                      DeviceAllocation on = second.memory().allocate(4 * SHAPE.bytes());
                      HostPool pool =
                          HostPool.open(
                              second,
                              DeviceBlocks.of(on.segment(), SHAPE.blockMajor(4)),
                              HostRequest.ofBytes(4 * SHAPE.bytes()));
                      DeviceStream stream = second.newStream()) {
                    pool.store(BlockCopies.device(0).host(0), after(stream)).await();
                    stream.await();
                  } catch (Throwable failure) {
                    failures.add(failure);
                  }
                });
    join(virtual);
    assertEquals(List.of(), failures);
    int seen = 0;
    for (Call call : tap.calls(BLOCKING)) {
      seen++;
      assertFalse(call.thread().isVirtual(), "made on a virtual thread: " + call);
    }
    for (Call call : tap.calls("HostKernel.advise")) {
      assertFalse(call.thread().isVirtual(), "made on a virtual thread: " + call);
    }
    assertTrue(seen >= 5, "hardly a call was seen: " + seen);
  }

  /**
   * Where virtual threads are inside driver calls. A call that is left for a while lets another
   * virtual thread into its carrier, or ends on another carrier: one of the two is always seen.
   * Lock-free, for a lock here would do what is looked for.
   */
  private static final class Carriers {
    private final ConcurrentSkipListMap<String, AtomicInteger> inside =
        new ConcurrentSkipListMap<>();
    private final Queue<String> left = new ConcurrentLinkedQueue<>();
    private final AtomicInteger seen = new AtomicInteger();

    /** Java names the carrier only in a mounted thread's own description. */
    private static String carrier() {
      String description = Thread.currentThread().toString();
      return description.substring(description.lastIndexOf('@') + 1);
    }

    @Nullable Object watch(Call call, Twist.Through through) throws Throwable {
      if (!Thread.currentThread().isVirtual()) {
        return through.go();
      }
      String before;
      AtomicInteger here;
      do {
        before = carrier();
        here = inside.computeIfAbsent(before, _ -> new AtomicInteger());
      } while (!before.equals(carrier()));
      seen.incrementAndGet();
      if (here.incrementAndGet() > 1) {
        left.add(call.name() + ": another call was left on " + before);
      }
      try {
        return through.go();
      } finally {
        here.decrementAndGet();
        if (!before.equals(carrier())) {
          left.add(call.name() + ": it began on " + before + " and ended on " + carrier());
        }
      }
    }
  }

  @Test
  @Covers(Rule.THR_05)
  final void thr05_a_driver_call_on_a_virtual_thread_never_leaves_its_carrier() {
    int threads = 4 * Runtime.getRuntime().availableProcessors();
    Carriers carriers = new Carriers();
    List<Throwable> failures = new CopyOnWriteArrayList<>();
    withPool(
        threads,
        threads,
        pool -> {
          for (String call : INLINE) {
            tap.twist(call, carriers::watch);
          }
          Completion first = pool.load(BlockCopies.device(0).host(0), unordered());
          pool.store(BlockCopies.device(0).host(0), after(first)).await(); // classes are loaded
          failures.addAll(
              onVirtualThreads(
                  threads,
                  mine -> {
                    for (int round = 0; round < 10; round++) {
                      Completion there =
                          pool.load(BlockCopies.device(mine).host(mine), unordered());
                      pool.store(BlockCopies.device(mine).host(mine), after(there)).await();
                    }
                  }));
          tap.untwist();
        });
    assertEquals(List.of(), failures);
    assertEquals(List.of(), List.copyOf(carriers.left), "something blocks inside a driver call");
    assertTrue(carriers.seen.get() >= 2 * threads, "hardly a call was seen: " + carriers.seen);
  }

  @Test
  @Covers(Rule.THR_04)
  final void thr04_things_may_be_closed_by_another_thread() {
    DeviceAllocation on = device.memory().allocate(4 * SHAPE.bytes());
    HostPool pool =
        HostPool.open(
            device,
            DeviceBlocks.of(on.segment(), SHAPE.blockMajor(4)),
            HostRequest.ofBytes(4 * SHAPE.bytes()));
    DeviceStream stream = device.newStream();
    DeviceEvent event = device.newEvent().record(stream);
    List<Throwable> failures = new CopyOnWriteArrayList<>();
    List<Thread> closers = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      closers.add(
          (i % 2 == 0 ? Thread.ofPlatform() : Thread.ofVirtual())
              .start(
                  () -> {
                    try {
                      event.close();
                      stream.close();
                      pool.close();
                      on.close();
                    } catch (Throwable failure) {
                      failures.add(failure);
                    }
                  }));
    }
    closers.forEach(this::join);
    assertEquals(List.of(), failures);
    assertEquals(0, tap.held("stream") + tap.held("event"), "own streams of the pool included");
    assertEquals(Map.of(), tap.registered());
    assertThrows(IllegalStateException.class, () -> pool.lease(0, Access.READ));
  }
}
