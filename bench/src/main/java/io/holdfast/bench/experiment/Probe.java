package io.holdfast.bench.experiment;

import static io.holdfast.device.Order.unordered;

import io.holdfast.Device;
import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.Completion;
import io.holdfast.device.DeviceAllocation;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.host.HostRequest;
import io.holdfast.layout.BlockShape;
import io.holdfast.pool.HostPool;
import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/** Another thread's small copies at a fixed pace, each latency counted from when it was due. */
interface Probe extends AutoCloseable {
  /** Begins, warmed up. */
  void start();

  /** Ends; ticks that a stall held up are made up for first. */
  long[] stop();

  @Override
  void close();

  /** By driver calls of a native thread. */
  static Probe ofNeighbour(Neighbour neighbour, long periodNanos) {
    return new Probe() {
      @Override
      public void start() {
        neighbour.startProbe(periodNanos);
      }

      @Override
      public long[] stop() {
        return neighbour.stopProbe();
      }

      @Override
      public void close() {}
    };
  }

  /** By copies through Holdfast, for backends without a native neighbour. */
  static Probe ofCopies(Device device, long periodNanos) {
    return new CopyProbe(device, periodNanos);
  }

  /** One block there again and again. */
  final class CopyProbe implements Probe {
    private static final BlockShape SHAPE = BlockShape.of(1, 4096);
    private static final int WARM_UP = 100;

    private final long periodNanos;
    private final DeviceAllocation memory;
    private final HostPool pool;
    private final BlockCopies one = BlockCopies.device(0).host(0);
    private long[] latencies = new long[1 << 12];
    private int count;
    private volatile long stopAt;
    private volatile boolean stopping;
    private @Nullable Thread thread;

    private CopyProbe(Device device, long periodNanos) {
      this.periodNanos = periodNanos;
      this.memory = device.memory().allocate(SHAPE.bytes());
      this.pool =
          HostPool.open(
              device,
              DeviceBlocks.of(memory.segment(), SHAPE.blockMajor(1)),
              HostRequest.ofBytes(SHAPE.bytes()));
    }

    @Override
    public void start() {
      count = 0;
      stopping = false;
      CountDownLatch warm = new CountDownLatch(1);
      thread = Thread.ofPlatform().daemon().name("probe").start(() -> run(warm));
      try {
        warm.await();
      } catch (InterruptedException _) {
        Thread.currentThread().interrupt();
      }
    }

    private void run(CountDownLatch warm) {
      Completion done = pool.load(one, unordered());
      done.await();
      for (int i = 0; i < WARM_UP; i++) {
        done = pool.load(one, unordered(), done);
        done.await();
      }
      long begun = System.nanoTime();
      warm.countDown();
      for (long tick = 1; ; tick++) {
        long due = begun + tick * periodNanos;
        if (stopping && due - stopAt > 0) {
          return;
        }
        for (long left = due - System.nanoTime(); left > 0; left = due - System.nanoTime()) {
          LockSupport.parkNanos(left);
        }
        done = pool.load(one, unordered(), done);
        done.await();
        if (count == latencies.length) {
          latencies = Arrays.copyOf(latencies, 2 * count);
        }
        latencies[count++] = System.nanoTime() - due;
      }
    }

    @Override
    public long[] stop() {
      stopAt = System.nanoTime();
      stopping = true;
      Thread running = thread;
      if (running != null) {
        try {
          running.join();
        } catch (InterruptedException _) {
          Thread.currentThread().interrupt();
        }
      }
      return Arrays.copyOf(latencies, count);
    }

    @Override
    public void close() {
      pool.close();
      memory.close();
    }
  }
}
