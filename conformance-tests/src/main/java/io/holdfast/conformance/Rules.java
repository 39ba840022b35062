package io.holdfast.conformance;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.Backend;
import io.holdfast.Device;
import io.holdfast.conformance.tap.Call;
import io.holdfast.conformance.tap.Tap;
import io.holdfast.device.Capability;
import io.holdfast.device.DeviceAllocation;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.error.DriverException;
import io.holdfast.error.DriverFault;
import io.holdfast.error.UnsupportedException;
import io.holdfast.host.HostRequest;
import io.holdfast.layout.BlockShape;
import io.holdfast.pin.HostBlocks;
import io.holdfast.pin.HostBlocks.Access;
import io.holdfast.pin.SlotLease;
import io.holdfast.pool.HostPool;
import io.holdfast.pool.PoolOptions;
import io.holdfast.spi.HostKernel;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.TestReporter;
import org.junit.jupiter.api.function.Executable;

/**
 * Where every group of rules begins: a backend that was opened behind a tap, its first device, and
 * the proof afterwards that all was given back.
 */
abstract class Rules {
  /** Two parts of 4 KiB: large enough for pages, small enough for many. */
  static final BlockShape SHAPE = BlockShape.of(2, 4096);

  final Conformance kit;
  final Tap tap = new Tap();
  final Backend backend;
  final Device device;
  private @Nullable TestReporter reporter;

  Rules(Conformance kit) {
    this.kit = kit;
    this.backend = kit.openBehind(tap);
    Device opened;
    try {
      opened = backend.open(0);
    } catch (Throwable failure) {
      backend.close();
      throw failure;
    }
    this.device = opened;
  }

  @BeforeEach
  final void remember(TestReporter where) {
    reporter = where;
  }

  @AfterEach
  final void nothingIsLeft() {
    tap.untwist();
    device.close();
    List<String> left = backend.stillOpen();
    backend.close();
    assertEquals(List.of(), left, "still open after the device was closed");
    assertEquals(List.of(), tap.open(), "taken from the ports and not given back");
  }

  // ---- gates

  /** The rest of the test is about what cannot be shown here. */
  static RuntimeException missing(String thing) {
    return new Gates.Missing(thing);
  }

  /** This test is judged the other way round. */
  final void inverted(String what) {
    if (reporter != null) {
      reporter.publishEntry(
          Map.of(Verdict.KEY, Verdict.INVERTED.name(), Verdict.REASON, what + " is not claimed"));
    }
  }

  /** A limit worth a line in the report. */
  final void limit(String name, Object value) {
    if (reporter != null) {
      reporter.publishEntry(Verdict.LIMIT, name + "=" + value);
    }
  }

  final boolean claims(Capability capability) {
    return device.capabilities().has(capability);
  }

  /** What is not claimed is refused by its type, and no port was asked to change anything. */
  final void refused(Capability what, Executable use) {
    inverted(what.name());
    long mapped = tap.mappedBytes();
    Map<Long, Long> registered = tap.registered();
    UnsupportedException refused = assertThrows(UnsupportedException.class, use);
    assertTrue(!refused.capability().isEmpty(), "the refusal does not name what is absent");
    assertEquals(mapped, tap.mappedBytes(), "a refusal changed what is mapped");
    assertEquals(registered, tap.registered(), "a refusal changed what is registered");
  }

  // ---- the machine

  /** Whether the host port has real mappings, or plain segments without pages. */
  final boolean hasPages() {
    return tap.kernel().pages() == HostKernel.Pages.KERNEL;
  }

  /** That many base pages: what is cut by pages must not depend on how large they are. */
  final long pages(long count) {
    return count * tap.kernel().basePageBytes();
  }

  /**
   * Whether the kernel makes pages when it is asked to; without that pages are made by touching.
   */
  final boolean populatesWhenAsked() {
    if (!hasPages()) {
      return false;
    }
    tap.forget();
    backend.pageSource().map(HostRequest.ofBytes(pages(16))).close();
    return tap.calls("HostKernel.advise").stream()
        .anyMatch(
            call ->
                call.argument(HostKernel.Advice.class, 1) == HostKernel.Advice.POPULATE_WRITE
                    && call.worked());
  }

  /** Whether the host port is this process's own kernel and no simulated one. */
  final boolean isThisProcess() {
    return hasPages() && tap.kernel().identity().release().equals(System.getProperty("os.version"));
  }

  // ---- refusals that the kit makes

  final DriverException refusal(DriverFault fault) {
    return new DriverException(backend.id(), "the kit's refusal", 9_999, "KIT_REFUSED", fault);
  }

  // ---- pools and bytes

  /** What is done with a pool. */
  interface Body {
    void run(HostPool pool);
  }

  final void withPool(long deviceBlocks, long slots, Body body) {
    withPool(SHAPE, deviceBlocks, slots, PoolOptions.defaults(), body);
  }

  final void withPool(
      BlockShape shape, long deviceBlocks, long slots, PoolOptions options, Body body) {
    try (DeviceAllocation on = device.memory().allocate(deviceBlocks * shape.bytes());
        HostPool pool =
            HostPool.open(
                device,
                DeviceBlocks.of(on.segment(), shape.blockMajor(deviceBlocks)),
                HostRequest.ofBytes(slots * shape.bytes()),
                options)) {
      body.run(pool);
    }
  }

  static int[] shuffled(int count, SplittableRandom random) {
    int[] order = new int[count];
    for (int i = 0; i < count; i++) {
      int at = random.nextInt(i + 1);
      order[i] = order[at];
      order[at] = i;
    }
    return order;
  }

  static long firstNonZero(MemorySegment memory) {
    return memory.mismatch(MemorySegment.ofArray(new byte[Math.toIntExact(memory.byteSize())]));
  }

  /** What a part holds: never the same in two parts, slots or places. */
  static byte[] expected(long seed, int part, long bytes) {
    byte[] all = new byte[Math.toIntExact(bytes)];
    long state = (seed * 31 + part) * 0x9E3779B97F4A7C15L;
    for (int at = 0; at < all.length; at++) {
      state += 0xBF58476D1CE4E5B9L;
      all[at] = (byte) (state >>> 40);
    }
    return all;
  }

  static void write(HostBlocks pool, long slot, long seed) {
    try (SlotLease lease = pool.lease(slot, Access.WRITE)) {
      for (int part = 0; part < pool.shape().parts(); part++) {
        MemorySegment bytes = lease.part(part);
        bytes.copyFrom(MemorySegment.ofArray(expected(seed, part, bytes.byteSize())));
      }
    }
  }

  static void check(HostBlocks pool, long slot, long seed) {
    try (SlotLease lease = pool.lease(slot, Access.READ)) {
      for (int part = 0; part < pool.shape().parts(); part++) {
        MemorySegment bytes = lease.part(part);
        long wrong = MemorySegment.ofArray(expected(seed, part, bytes.byteSize())).mismatch(bytes);
        if (wrong != -1) {
          throw new AssertionError(
              "slot " + slot + ", part " + part + ", byte " + wrong + " is wrong");
        }
      }
    }
  }

  // ---- threads and order

  final void join(Thread thread) {
    try {
      assertTrue(thread.join(kit.patience()), "stuck: " + thread);
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  final void await(CountDownLatch latch, String what) {
    try {
      assertTrue(latch.await(kit.patience().toMillis(), TimeUnit.MILLISECONDS), what);
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  /** Waits for what another thread brings about. */
  final void until(BooleanSupplier condition, String what) {
    until(kit.patience(), condition, what);
  }

  static void until(Duration patience, BooleanSupplier condition, String what) {
    long end = System.nanoTime() + patience.toNanos();
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() - end > 0) {
        throw new AssertionError(what);
      }
      LockSupport.parkNanos(100_000);
    }
  }

  /**
   * The device has passed nothing, as far as policy can see, until this is released; at last it
   * releases itself, lest who should not wait for the device waits for ever.
   */
  final class Held implements AutoCloseable {
    private final CountDownLatch released = new CountDownLatch(1);
    private final long end = System.nanoTime() + kit.patience().toNanos();

    Held() {
      tap.twist("DevicePort.eventPassed", (_, through) -> isReleased() ? through.go() : false);
      tap.twist("DevicePort.streamIdle", (_, through) -> isReleased() ? through.go() : false);
      for (String waiting : List.of("DevicePort.awaitEvent", "DevicePort.awaitStream")) {
        tap.twist(
            waiting,
            (_, through) -> {
              await(released, "nobody let the device pass");
              return through.go();
            });
      }
    }

    boolean isReleased() {
      return released.getCount() == 0 || System.nanoTime() - end > 0;
    }

    void release() {
      released.countDown();
    }

    @Override
    public void close() {
      release();
      tap.untwist();
    }
  }

  /** Fails unless the names come in that order, other calls between them. */
  static void inOrder(List<Call> calls, Function<Call, String> name, String... wanted) {
    List<String> left = new ArrayList<>(List.of(wanted));
    for (Call call : calls) {
      if (!left.isEmpty() && name.apply(call).equals(left.getFirst())) {
        left.removeFirst();
      }
    }
    assertEquals(
        Collections.emptyList(), left, "these did not come in order " + List.of(wanted) + calls);
  }
}
