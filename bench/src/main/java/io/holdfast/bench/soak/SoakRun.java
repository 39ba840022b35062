package io.holdfast.bench.soak;

import io.holdfast.Availability;
import io.holdfast.Backend;
import io.holdfast.BackendKind;
import io.holdfast.Backends;
import io.holdfast.Device;
import io.holdfast.Selection;
import io.holdfast.Transcript;
import io.holdfast.bench.tool.ByteCount;
import io.holdfast.bench.tool.Wording;
import io.holdfast.device.DeviceAllocation;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.device.DeviceInfo;
import io.holdfast.host.HostRequest;
import io.holdfast.host.PlacementReceipt;
import io.holdfast.layout.BlockShape;
import io.holdfast.pin.PinPacing;
import io.holdfast.pin.PinReceipt;
import io.holdfast.pin.PinRequest;
import io.holdfast.pool.HostPool;
import io.holdfast.pool.PoolOptions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.DoubleConsumer;
import org.jspecify.annotations.Nullable;

/** One rank's run, from the choice of a backend to the last check after the close. */
public final class SoakRun {
  private static final long DEVICE_BUDGET_BYTES = 1L << 30;
  private static final long PROGRESS_MILLIS = 100;
  // In the background so that a signal can end it, as fast as if it were waited for.
  private static final PoolOptions FLAT_OUT =
      PoolOptions.defaults().pin(PinRequest.strict().pacing(PinPacing.flatOut()));

  private final SoakOptions options;
  private final Consumer<String> say;
  private final Consumer<String> complain;
  private final RoundTrips.Counters counters = new RoundTrips.Counters();
  private final CompletableFuture<Void> stopping = new CompletableFuture<>();

  /**
   * Nothing is done yet.
   *
   * @param options what to do
   * @param say told what was got, line by line
   * @param complain told what is wrong
   */
  public SoakRun(SoakOptions options, Consumer<String> say, Consumer<String> complain) {
    this.options = options;
    this.say = say;
    this.complain = complain;
  }

  /** Ends the run early and cleanly. From any thread. */
  public void stop() {
    stopping.complete(null);
  }

  /**
   * What was done so far, for a progress line.
   *
   * @return some words
   */
  public String progress() {
    return String.format(
        Locale.ROOT,
        "%s, %s, %d mismatches",
        Wording.count(counters.roundTrips.get(), "round trip"),
        ByteCount.describe(counters.bytesMoved()),
        counters.mismatches.get());
  }

  /**
   * Runs.
   *
   * @param elapsed told now and then how many seconds blocks have been moving
   * @return what was found
   */
  public SoakResult run(DoubleConsumer elapsed) {
    LeakCheck before = new LeakCheck();
    Selection selection = options.backend().map(Selection::of).orElseGet(Selection::allowSimulated);
    List<String> leaks = new ArrayList<>();
    Measured measured;
    Backend backend = Backends.select(selection);
    try (backend) {
      describe(backend);
      List<DeviceInfo> devices = backend.devices();
      try (Device device = backend.open(devices.get(options.rank() % devices.size()))) {
        measured = onDevice(backend, device, elapsed, leaks);
      }
      backend.stillOpen().forEach(name -> leaks.add(name + " is still open"));
    }
    leaks.addAll(before.leaks(measured.address(), measured.mappedBytes()));
    return measured.result(options, backend, counters, leaks);
  }

  private void describe(Backend backend) {
    say.accept("backend: " + backend.id() + ", " + backend.version());
    backend.transcript().chosen().ifPresent(choice -> say.accept("  because " + choice.because()));
    for (Transcript.Entry entry : backend.transcript().entries()) {
      if (entry.availability() instanceof Availability.Unavailable no) {
        say.accept("  not " + entry.id() + ": " + no.reason());
      }
    }
    if (backend.kind() == BackendKind.SIMULATOR) {
      say.accept(
          "note: the device is SIMULATED by "
              + backend.id()
              + "; "
              + (backend.id().contains(":")
                  ? "so are the host and its pages"
                  : "host pages are real where this is Linux")
              + ", speeds say nothing of hardware");
    }
  }

  /** What is known of the pool once it is gone. */
  private record Measured(
      String device,
      long address,
      long logicalBytes,
      long mappedBytes,
      long registeredBytes,
      long registrations,
      double readyMillis,
      long forks) {
    SoakResult result(
        SoakOptions options, Backend backend, RoundTrips.Counters counters, List<String> leaks) {
      return new SoakResult(
          options.rank(),
          backend.id(),
          backend.kind() == BackendKind.SIMULATOR,
          device,
          options.pages().describe(),
          logicalBytes,
          mappedBytes,
          registeredBytes,
          registrations,
          readyMillis,
          counters.roundTrips.get(),
          counters.bytesMoved(),
          counters.stores.gigabytesPerSecond(),
          counters.loads.gigabytesPerSecond(),
          counters.mismatches.get(),
          forks,
          leaks);
    }
  }

  private Measured onDevice(
      Backend backend, Device device, DoubleConsumer elapsed, List<String> leaks) {
    BlockShape shape = shape(options.blockBytes());
    long hostBlocks = Math.max(1, options.bytes() / shape.bytes());
    long freeBefore = device.memory().info().freeBytes();
    long budget = Math.min(DEVICE_BUDGET_BYTES, freeBefore / 4);
    long deviceBlocks = Math.max(1, Math.min(hostBlocks, budget / shape.bytes()));
    HostRequest request =
        HostRequest.ofBytes(options.bytes())
            .pages(options.pages())
            .limits(options.limits())
            .numa(options.numa().apply(device.info()));
    Measured measured;
    try (DeviceAllocation memory = device.memory().allocate(deviceBlocks * shape.bytes())) {
      DeviceBlocks blocks = DeviceBlocks.of(memory.segment(), shape.blockMajor(deviceBlocks));
      long begun = System.nanoTime();
      try (HostPool pool = HostPool.openInBackground(device, blocks, request, FLAT_OUT)) {
        boolean ready = awaitReady(pool);
        double readyMillis = ready ? (System.nanoTime() - begun) / 1e6 : 0;
        long forks = 0;
        if (ready) {
          describe(device, pool, readyMillis);
          forks = moveBlocks(pool, deviceBlocks, elapsed);
        } else {
          complain.accept("stopped before the pool was complete");
        }
        measured =
            new Measured(
                device.info().name(),
                ready ? pool.region().segment().address() : 0, // it has no whole view before
                pool.region().logicalBytes(),
                pool.region().mappedBytes(),
                pool.pinned().registeredBytes(),
                pool.pinned().ranges().size(),
                readyMillis,
                forks);
      }
    }
    device
        .pinner()
        .quarantine()
        .forEach(
            range -> leaks.add(range.registeredBytes() + " bytes are still registered: " + range));
    long freeAfter = device.memory().info().freeBytes();
    if (backend.kind() == BackendKind.SIMULATOR && freeAfter != freeBefore) {
      leaks.add((freeBefore - freeAfter) + " bytes of device memory are missing");
    }
    return measured;
  }

  /** Until all of it can be used, or the run is stopped: closing then ends what goes on. */
  private boolean awaitReady(HostPool pool) {
    try {
      CompletableFuture.anyOf(pool.ready(), stopping).join();
      return !stopping.isDone();
    } catch (CompletionException wrapped) {
      if (wrapped.getCause() instanceof RuntimeException reason) {
        throw reason;
      }
      throw wrapped;
    }
  }

  /** Two parts where that can be, so that host and device lie differently. */
  private static BlockShape shape(long blockBytes) {
    return blockBytes % 2 == 0 ? BlockShape.of(2, blockBytes / 2) : BlockShape.of(1, blockBytes);
  }

  private void describe(Device device, HostPool pool, double readyMillis) {
    PinReceipt pins = pool.pinned().receipt();
    PlacementReceipt receipt = pool.region().receipt();
    say.accept("device: " + device.info().name());
    say.accept(
        "pool: %s of %,d bytes on %s"
            .formatted(
                Wording.count(pool.slots(), "slot"),
                pool.shape().bytes(),
                options.pages().describe()));
    say.accept(
        "bytes: %,d logical, %,d mapped (pages of %s), %,d registered"
            .formatted(
                pool.region().logicalBytes(),
                pool.region().mappedBytes(),
                ByteCount.describe(pool.region().backingPageBytes()),
                pool.pinned().registeredBytes()));
    say.accept(
        "plan: %s of at most %s, %s over a cut"
            .formatted(
                Wording.count(pool.pinned().plan().registrations(), "registration"),
                ByteCount.describe(pool.pinned().plan().longestCallBytes()),
                Wording.count(pool.pinned().plan().straddlingBlocks(), "block")));
    say.accept(
        "pins: %s, cap %s, %s, longest call %.1f ms"
            .formatted(
                Wording.count(pins.ranges().size(), "registration"),
                ByteCount.describe(pins.capBytes()),
                pins.pinModel(),
                pins.longestCallNanos() / 1e6));
    pins.bounds().forEach(bound -> say.accept("  bound: " + bound));
    pins.notes().forEach(note -> say.accept("  note: " + note));
    say.accept(
        "receipt: nodes %s, page sizes %s, %.1f %% of the pages asked; mapped in %.1f ms, populated in"
                .formatted(
                    receipt.bytesPerNode(),
                    receipt.bytesPerPageSize(),
                    100 * receipt.sampledShare(),
                    receipt.map().toNanos() / 1e6)
            + " %.1f ms by %s"
                .formatted(
                    receipt.populate().toNanos() / 1e6,
                    Wording.count(receipt.populateThreads(), "thread")));
    receipt.notes().forEach(note -> say.accept("  note: " + note));
    say.accept(String.format(Locale.ROOT, "ready after %.1f ms", readyMillis));
  }

  private long moveBlocks(HostPool pool, long deviceBlocks, DoubleConsumer elapsed) {
    int threads = (int) Math.min(options.threads(), Math.min(pool.slots(), deviceBlocks));
    long begun = System.nanoTime();
    long lengthNanos = (long) (options.seconds() * 1e9);
    AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
    List<Thread> movers = new ArrayList<>();
    try (Forker forker = new Forker(options.forks(), options.seconds())) {
      for (int i = 0; i < threads; i++) {
        RoundTrips trips =
            new RoundTrips(
                pool,
                RoundTrips.Share.of(pool.slots(), i, threads),
                RoundTrips.Share.of(deviceBlocks, i, threads),
                options.seed() * 31 + options.rank() * 1009L + i,
                counters,
                () -> !stopping.isDone() && System.nanoTime() - begun < lengthNanos,
                complain);
        movers.add(Thread.ofPlatform().name("holdfast-mover-" + i).start(guarded(trips, failure)));
      }
      for (Thread mover : movers) {
        await(mover, () -> elapsed.accept((System.nanoTime() - begun) / 1e9));
      }
      if (failure.get() == null) {
        forker.awaitRest(stopping::isDone);
      }
      rethrow(failure.get());
      return forker.forked();
    }
  }

  private Runnable guarded(Runnable work, AtomicReference<@Nullable Throwable> failure) {
    return () -> {
      try {
        work.run();
      } catch (Throwable thrown) {
        failure.compareAndSet(null, thrown);
        stopping.complete(null);
      }
    };
  }

  private static void await(Thread mover, Runnable tick) {
    while (mover.isAlive()) {
      try {
        if (!mover.join(Duration.ofMillis(PROGRESS_MILLIS))) {
          tick.run();
        }
      } catch (InterruptedException _) {
        Thread.currentThread().interrupt();
        return;
      }
    }
  }

  private static void rethrow(@Nullable Throwable failure) {
    switch (failure) {
      case null -> {}
      case RuntimeException exception -> throw exception;
      case Error error -> throw error;
      default -> throw new AssertionError("movers throw nothing checked", failure);
    }
  }
}
