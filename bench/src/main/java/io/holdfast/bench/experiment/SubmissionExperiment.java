package io.holdfast.bench.experiment;

import static io.holdfast.device.Order.unordered;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.management.ThreadMXBean;
import io.holdfast.Backend;
import io.holdfast.Backends;
import io.holdfast.Device;
import io.holdfast.bench.tool.RefusedException;
import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.Completion;
import io.holdfast.copy.CopyOptions;
import io.holdfast.copy.CopyPath;
import io.holdfast.copy.CopyRoute.Direction;
import io.holdfast.device.DeviceAllocation;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.host.HostRequest;
import io.holdfast.layout.BlockShape;
import io.holdfast.pool.HostPool;
import io.holdfast.pool.PoolOptions;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * What a submission costs: Holdfast's own work for each descriptor against a CUDA driver that does
 * nothing, with what it allocates; and, where there is a GPU, one asynchronous copy through FFM and
 * through JCuda in turn. The setting {@code parts} names noop and bindings. Run it in a process of
 * its own: the first driver that a process loads stays.
 */
final class SubmissionExperiment implements Experiment {
  private static final int BLOCKS = 1024;
  private static final int STEP = 389; // no two neighbours on both sides
  private static final int WARM_UP = 3_000;
  private static final int BATCHES = 1_000;

  @Override
  public void run(Workbench bench) {
    boolean hardware = bench.settings().cuda();
    String parts = bench.settings().more().getOrDefault("parts", hardware ? "bindings" : "noop");
    for (String part : parts.split(",")) {
      switch (part) {
        case "noop" -> noop(bench);
        case "bindings" -> bindings(bench);
        default -> throw new IllegalArgumentException("there is no part '" + part + "'");
      }
    }
  }

  /** A backend with a pool and one batch of scattered blocks. */
  private static final class Batch implements AutoCloseable {
    private final Backend backend;
    private final HostPool pool;
    private final BlockCopies copies = BlockCopies.withCapacity(BLOCKS);
    private Completion done;

    Batch(String backendId, int ordinal, CopyPath path) {
      BlockShape shape = BlockShape.of(1, 4096);
      backend = Backends.select(backendId);
      try {
        Device device = backend.open(ordinal);
        DeviceAllocation memory = device.memory().allocate(BLOCKS * shape.bytes());
        pool =
            HostPool.open(
                device,
                DeviceBlocks.of(memory.segment(), shape.blockMajor(BLOCKS)),
                HostRequest.ofBytes(BLOCKS * shape.bytes()),
                PoolOptions.defaults().copy(CopyOptions.auto().path(path)));
        for (int block = 0; block < BLOCKS; block++) {
          copies.add(block, (block * STEP) % BLOCKS);
        }
        done = pool.load(copies, unordered());
        done.await();
      } catch (RuntimeException failure) {
        backend.close();
        throw failure;
      }
    }

    /** Submits, waits, and answers the caller's nanoseconds for the submission alone. */
    long once(Direction direction) {
      long begun = System.nanoTime();
      done =
          direction == Direction.STORE
              ? pool.store(copies, unordered(), done)
              : pool.load(copies, unordered(), done);
      long submitted = System.nanoTime() - begun;
      done.await();
      return submitted;
    }

    long descriptors() {
      return done.report().descriptors();
    }

    @Override
    public void close() {
      backend.close();
    }
  }

  private static void noop(Workbench bench) {
    if (bench.settings().cuda()) {
      throw new RefusedException(
          "the driver that does nothing is measured in a process that loads no other: leave"
              + " --backend cuda out");
    }
    String property = "holdfast.cuda.library";
    String before = System.getProperty(property);
    System.setProperty(property, bench.tools().noopDriver().toAbsolutePath().toString());
    try {
      for (CopyPath path : List.of(CopyPath.LOOP, CopyPath.BATCH, CopyPath.KERNEL)) {
        try (Batch batch = new Batch("cuda", 0, path)) {
          for (Direction direction : Direction.values()) {
            noop(bench, batch, path, direction);
          }
        }
      }
    } finally {
      restore(property, before);
    }
  }

  private static void restore(String property, @Nullable String before) {
    if (before == null) {
      System.clearProperty(property);
    } else {
      System.setProperty(property, before);
    }
  }

  private static void noop(Workbench bench, Batch batch, CopyPath path, Direction direction) {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    for (int i = 0; i < WARM_UP; i++) {
      batch.once(direction);
    }
    Samples nanos = new Samples();
    long least = Long.MAX_VALUE;
    for (int round = 0; round < bench.settings().rounds(); round++) {
      long before = threads.getCurrentThreadAllocatedBytes();
      long sum = 0;
      for (int i = 0; i < BATCHES; i++) {
        sum += batch.once(direction);
      }
      least = Math.min(least, threads.getCurrentThreadAllocatedBytes() - before);
      nanos.add((double) sum / BATCHES / BLOCKS);
    }
    Workbench.require(
        batch.descriptors() == BLOCKS, batch.descriptors() + " descriptors, not " + BLOCKS);
    String where = path + " " + direction.name().toLowerCase(Locale.ROOT);
    ObjectNode node =
        bench
            .result("submission")
            .put("driver", "no-op")
            .put("path", path.name())
            .put("direction", direction.name().toLowerCase(Locale.ROOT))
            .put("allocatedBytesInBatches", least)
            .put("batches", BATCHES);
    nanos.into(node, "nanosOfDescriptor");
    bench.write(node);
    bench.note(where + ": " + nanos.median() + " ns a descriptor");
    bench.holds("no byte allocated in " + BATCHES + " batches, " + where, least == 0);
    bench.atMost("own nanoseconds of a descriptor, " + where, nanos.median(), 100);
  }

  /** One asynchronous copy through each binding of the real driver. */
  private static void bindings(Workbench bench) {
    if (!bench.settings().cuda()) {
      bench.write(bench.result("skipped").put("because", "the bindings drive a CUDA device"));
      return;
    }
    List<String> names = List.of("ffm", "jcuda");
    List<Batch> batches = new ArrayList<>();
    String property = "holdfast.cuda.binding";
    String before = System.getProperty(property);
    try {
      for (String name : names) {
        System.setProperty(property, name);
        batches.add(new Batch("cuda", bench.settings().ordinal(), CopyPath.LOOP));
      }
      List<Samples> nanos = List.of(new Samples(), new Samples());
      batches.forEach(
          batch -> {
            for (int i = 0; i < 300; i++) {
              batch.once(Direction.STORE);
              batch.once(Direction.LOAD);
            }
          });
      for (int round = 0; round < 3 * bench.settings().rounds(); round++) {
        for (int turn = 0; turn < 2; turn++) {
          int which = (round + turn) % 2;
          long sum = 0;
          for (int i = 0; i < 50; i++) {
            sum += batches.get(which).once(Direction.STORE);
          }
          nanos.get(which).add(sum / 50.0 / BLOCKS);
        }
      }
      for (int which = 0; which < 2; which++) {
        ObjectNode node = bench.result("call").put("binding", names.get(which));
        nanos.get(which).into(node, "nanosOfCopy");
        bench.write(node);
      }
      bench.atMost(
          "an asynchronous copy through FFM against JCuda",
          nanos.getFirst().median() / nanos.getLast().median(),
          1.10);
    } finally {
      restore(property, before);
      batches.forEach(Batch::close);
    }
  }
}
