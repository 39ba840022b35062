package io.holdfast.bench.soak;

import io.holdfast.Device;
import io.holdfast.copy.CopyOptions;
import io.holdfast.copy.CopyPath;
import io.holdfast.device.DeviceAllocation;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.error.UnsupportedException;
import io.holdfast.host.HostRequest;
import io.holdfast.host.HostRequest.Limits;
import io.holdfast.host.PageKind;
import io.holdfast.layout.Arrangement;
import io.holdfast.layout.BlockLayout;
import io.holdfast.layout.BlockShape;
import io.holdfast.pool.HostPool;
import io.holdfast.pool.PoolOptions;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Pools of random shapes, layouts, pages and copy paths, one after another, with threads that move
 * random batches through each and check every byte.
 */
public final class RandomShapes {
  private static final long LEAST_POOL_BYTES = 8L << 20;
  private static final long MOST_BLOCKS = 512;

  private final Device device;
  private final List<PageKind> pages;
  private final long poolBytes;
  private final SplittableRandom random;
  private final Consumer<String> complain;
  private final RoundTrips.Counters counters = new RoundTrips.Counters();

  /**
   * Nothing is opened yet.
   *
   * @param device where blocks lie
   * @param pages what backs the pools, one of them at a time
   * @param poolBytes most bytes of a pool
   * @param seed of all choices
   * @param complain told of each mismatch
   */
  public RandomShapes(
      Device device, List<PageKind> pages, long poolBytes, long seed, Consumer<String> complain) {
    this.device = device;
    this.pages = List.copyOf(pages);
    this.poolBytes = Math.max(LEAST_POOL_BYTES, poolBytes);
    this.random = new SplittableRandom(seed);
    this.complain = complain;
  }

  /**
   * Opens a pool, moves batches, closes it.
   *
   * @param batches how many at least
   * @param threads how many move them
   * @return the shape, for people
   */
  public String once(long batches, int threads) {
    BlockShape shape = shape();
    long blocks = Math.clamp(poolBytes / shape.bytes(), 4, MOST_BLOCKS);
    BlockLayout layout =
        random.nextBoolean()
            ? shape.layerMajor(blocks)
            : shape.blockMajor(blocks, shape.bytes() + random.nextInt(3) * 64L);
    Arrangement arrangement =
        random.nextBoolean() ? Arrangement.LAYER_MAJOR : Arrangement.BLOCK_MAJOR;
    PageKind kind = pages.get(random.nextInt(pages.size()));
    long slots = blocks + random.nextLong(blocks);
    HostRequest request =
        HostRequest.ofBytes(slots * shape.bytes()).pages(kind).limits(Limits.ADVISE);
    try (DeviceAllocation memory = device.memory().allocate(layout.extentBytes())) {
      DeviceBlocks ends = DeviceBlocks.of(memory.segment(), layout);
      PoolOptions options = PoolOptions.defaults().arrangement(arrangement);
      try (HostPool pool = open(ends, request, options)) {
        move(pool, blocks, batches, threads);
      }
    }
    return "%d parts, %d bytes, %s, %s"
        .formatted(shape.parts(), shape.bytes(), arrangement, kind.describe());
  }

  /** With a path of its own now and then, where it is there. */
  private HostPool open(DeviceBlocks ends, HostRequest request, PoolOptions options) {
    List<CopyPath> paths = List.of(CopyPath.values());
    int choice = random.nextInt(2 * paths.size());
    if (choice < paths.size()) {
      try {
        CopyOptions fixed = CopyOptions.auto().path(paths.get(choice));
        return HostPool.open(device, ends, request, options.copy(fixed));
      } catch (UnsupportedException _) { // absent here: let measurements decide
      }
    }
    return HostPool.open(device, ends, request, options);
  }

  /** One to six parts, each odd, aligned, small or large. */
  private BlockShape shape() {
    int parts = 1 + random.nextInt(6);
    List<Long> bytes = new ArrayList<>();
    for (int i = 0; i < parts; i++) {
      bytes.add(
          switch (random.nextInt(4)) {
            case 0 -> 1L + random.nextInt(5_000);
            case 1 -> 16L * (1 + random.nextInt(1_024));
            case 2 -> 4_096L * (1 + random.nextInt(16));
            default -> 1L + random.nextInt(150_000);
          });
    }
    return new BlockShape(bytes);
  }

  private void move(HostPool pool, long blocks, long batches, int threads) {
    int movers = (int) Math.min(threads, Math.min(pool.slots(), blocks) / 2);
    long target = counters.batches.get() + batches;
    AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
    List<Thread> running = new ArrayList<>();
    for (int i = 0; i < movers; i++) {
      RoundTrips trips =
          new RoundTrips(
              pool,
              RoundTrips.Share.of(pool.slots(), i, movers),
              RoundTrips.Share.of(blocks, i, movers),
              random.nextLong(),
              counters,
              () -> failure.get() == null && counters.batches.get() < target,
              complain);
      running.add(
          Thread.ofPlatform()
              .name("holdfast-mover-" + i)
              .start(
                  () -> {
                    try {
                      trips.run();
                    } catch (Throwable thrown) {
                      failure.compareAndSet(null, thrown);
                    }
                  }));
    }
    for (Thread mover : running) {
      boolean interrupted = false;
      while (mover.isAlive()) {
        try {
          mover.join();
        } catch (InterruptedException _) {
          interrupted = true;
        }
      }
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
    Throwable thrown = failure.get();
    if (thrown != null) {
      throw new IllegalStateException("a mover failed", thrown);
    }
  }

  /**
   * How many batches were moved.
   *
   * @return loads and stores
   */
  public long batches() {
    return counters.batches.get();
  }

  /**
   * How many blocks went there and back.
   *
   * @return round trips
   */
  public long roundTrips() {
    return counters.roundTrips.get();
  }

  /**
   * What was moved in both directions.
   *
   * @return bytes
   */
  public long bytesMoved() {
    return counters.bytesMoved();
  }

  /**
   * Blocks with a wrong byte.
   *
   * @return how many
   */
  public long mismatches() {
    return counters.mismatches.get();
  }
}
