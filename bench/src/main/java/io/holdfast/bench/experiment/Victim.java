package io.holdfast.bench.experiment;

import static io.holdfast.device.Order.unordered;

import io.holdfast.Backend;
import io.holdfast.Backends;
import io.holdfast.Device;
import io.holdfast.bench.soak.Forker;
import io.holdfast.bench.soak.Pattern;
import io.holdfast.bench.tool.PageOption;
import io.holdfast.copy.BlockCopies;
import io.holdfast.device.DeviceAllocation;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.host.HostRequest;
import io.holdfast.host.HostRequest.Limits;
import io.holdfast.layout.BlockShape;
import io.holdfast.pin.HostBlocks.Access;
import io.holdfast.pin.PinPacing;
import io.holdfast.pin.PinRequest;
import io.holdfast.pin.SlotLease;
import io.holdfast.pool.HostPool;
import io.holdfast.pool.PoolOptions;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;

/**
 * A process that opens a pool, says on standard output when it has come to a certain moment, and
 * waits there to be killed, or dies of an exception with everything open.
 */
final class Victim {
  /** When it dies. */
  enum Moment {
    /** While pages are made. */
    POPULATE,
    /** When some ranges are registered and others are not. */
    REGISTERED,
    /** While blocks go both ways. */
    COPIES,
    /** While children live that were forked and hold all that a fork hands down. */
    FORKED,
    /** While children live that were forked and run another program. */
    EXECUTED,
    /** Never: it moves blocks, checks them, closes and ends well. */
    SERVE
  }

  private static final BlockShape SHAPE = BlockShape.of(1, 1 << 20);
  private static final long LONGEST_MILLIS = 60_000;
  private static final int CHILDREN = 4;
  private static final int CHILD_SECONDS = 12;
  private static final int CAME_TO_NO_END = 9;

  private final Moment moment;
  private final boolean byException;
  private final String backendId;
  private final int ordinal;
  private final Path library;

  private Victim(Moment moment, boolean byException, String backendId, int ordinal, Path library) {
    this.library = library;
    this.moment = moment;
    this.byException = byException;
    this.backendId = backendId;
    this.ordinal = ordinal;
  }

  /**
   * Lives and dies.
   *
   * @param arguments moment, whether it dies of an exception, backend, ordinal, pages, bytes of the
   *     pool, bytes of device memory, the library that forks
   */
  public static void main(String[] arguments) {
    if (System.getProperty(Forker.MECHANISM) == null) { // read once, before the first child
      System.setProperty(Forker.MECHANISM, "FORK");
    }
    Victim victim =
        new Victim(
            Moment.valueOf(arguments[0]),
            Boolean.parseBoolean(arguments[1]),
            arguments[2],
            Integer.parseInt(arguments[3]),
            Path.of(arguments[7]));
    HostRequest request =
        HostRequest.ofBytes(Long.parseLong(arguments[5]))
            .pages(new PageOption().convert(arguments[4]))
            .limits(Limits.ADVISE);
    victim.live(request, Long.parseLong(arguments[6]));
  }

  private void live(HostRequest request, long deviceBytes) {
    Backend backend = Backends.select(backendId); // closed by nobody but the SERVE moment
    Device device = backend.open(ordinal);
    DeviceAllocation memory = device.memory().allocate(Math.max(deviceBytes, 16 * SHAPE.bytes()));
    DeviceBlocks blocks = DeviceBlocks.of(memory.segment(), SHAPE.blockMajor(16));
    PinRequest slowly =
        PinRequest.strict()
            .sliceBytes(Math.max(SHAPE.bytes(), request.logicalBytes() / 32))
            .pacing(PinPacing.flatOut().between(Duration.ofMillis(100)));
    PoolOptions options =
        moment == Moment.REGISTERED ? PoolOptions.defaults().pin(slowly) : PoolOptions.defaults();
    HostPool pool = HostPool.openInBackground(device, blocks, request, options);
    long quarter = pool.region().mappedBytes() / 4;
    switch (moment) {
      case POPULATE -> {
        until(() -> pool.region().populatedBytes() >= quarter);
        dies("populated " + pool.region().populatedBytes());
      }
      case REGISTERED -> {
        until(() -> pool.pinned().registeredBytes() >= quarter);
        dies("registered " + pool.pinned().registeredBytes());
      }
      case COPIES -> {
        AtomicLong batches = new AtomicLong();
        pool.ready().join();
        for (int i = 0; i < 4; i++) {
          int first = i;
          Thread.ofPlatform().daemon().start(() -> move(pool, first, batches));
        }
        until(() -> batches.get() >= 200);
        dies("copied " + batches.get());
      }
      case FORKED -> {
        pool.ready().join();
        int alive = Neighbour.open(library, -1).startSleepers(CHILDREN, CHILD_SECONDS);
        dies("forked " + alive);
      }
      case EXECUTED -> {
        pool.ready().join();
        for (int i = 0; i < CHILDREN; i++) {
          start(Integer.toString(CHILD_SECONDS));
        }
        dies("forked " + CHILDREN);
      }
      case SERVE -> {
        pool.ready().join();
        serve(pool);
        backend.close();
        say("served " + pool.slots());
      }
    }
  }

  private static void start(String seconds) {
    try {
      new ProcessBuilder("sleep", seconds)
          .redirectOutput(ProcessBuilder.Redirect.DISCARD)
          .redirectError(ProcessBuilder.Redirect.DISCARD)
          .start();
    } catch (IOException failure) {
      throw new UncheckedIOException("cannot fork", failure);
    }
  }

  private static void move(HostPool pool, int first, AtomicLong batches) {
    BlockCopies loads = BlockCopies.withCapacity(4);
    BlockCopies stores = BlockCopies.withCapacity(4);
    for (int i = 0; i < 4; i++) {
      loads.add(4L * first + i, (4L * first + i) % pool.slots());
      stores.add(4L * first + i, (4L * first + i) % pool.slots());
    }
    while (true) {
      pool.load(loads, unordered());
      pool.store(stores, unordered()).await();
      batches.addAndGet(2);
    }
  }

  /** The first, the middle and the last slot go to the device and come back. */
  private static void serve(HostPool pool) {
    for (long slot : new long[] {0, pool.slots() / 2, pool.slots() - 1}) {
      try (SlotLease lease = pool.lease(slot, Access.WRITE)) {
        Pattern.fill(lease.part(0), slot + 1);
      }
      pool.load(BlockCopies.device(5).host(slot), unordered()).await();
      try (SlotLease lease = pool.lease(slot, Access.WRITE)) {
        lease.part(0).fill((byte) 0xA5);
      }
      pool.store(BlockCopies.device(5).host(slot), unordered()).await();
      try (SlotLease lease = pool.lease(slot, Access.READ)) {
        if (Pattern.firstDifference(lease.part(0), slot + 1) >= 0) {
          throw new IllegalStateException("slot " + slot + " came back wrong");
        }
      }
    }
  }

  private void dies(String where) {
    say(where);
    if (byException) {
      throw new IllegalStateException("the victim dies of this, as it should: " + where);
    }
    long begun = System.nanoTime();
    until(() -> System.nanoTime() - begun > LONGEST_MILLIS * 1_000_000);
    System.exit(CAME_TO_NO_END);
  }

  private static void say(String line) {
    System.out.println(line);
    System.out.flush();
  }

  private static void until(BooleanSupplier condition) {
    long begun = System.nanoTime();
    while (!condition.getAsBoolean()
        && System.nanoTime() - begun <= 2 * LONGEST_MILLIS * 1_000_000) {
      try {
        Thread.sleep(1);
      } catch (InterruptedException _) {
        Thread.currentThread().interrupt();
        return;
      }
    }
  }
}
