package io.holdfast.internal.pin;

import io.holdfast.device.DeviceSegment;
import io.holdfast.error.BusyException;
import io.holdfast.error.DriverException;
import io.holdfast.error.DriverFault;
import io.holdfast.error.HoldfastException;
import io.holdfast.event.Activity;
import io.holdfast.host.HostMemory;
import io.holdfast.internal.Segment;
import io.holdfast.internal.SegmentOwner;
import io.holdfast.internal.core.CoreDevice;
import io.holdfast.internal.event.Journal;
import io.holdfast.internal.slots.HostSlots;
import io.holdfast.internal.tree.Standing;
import io.holdfast.internal.tree.UseCount;
import io.holdfast.layout.BlockLayout;
import io.holdfast.layout.Bytes;
import io.holdfast.pin.CutPolicy;
import io.holdfast.pin.HostBlocks;
import io.holdfast.pin.PinException;
import io.holdfast.pin.PinPacing;
import io.holdfast.pin.PinReceipt;
import io.holdfast.pin.PinRequest;
import io.holdfast.pin.PinRequest.OnFailure;
import io.holdfast.pin.PinnedRange;
import io.holdfast.pin.RegistrationPlan;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.HostKernel;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Pinned memory, and the thread that pins it.
 *
 * <p>Each registration has one record, from which alone it is undone. The thread lives while
 * pinning goes on; between driver calls it can be paused, held by a close that may still be
 * refused, or stopped.
 */
final class StandardPinnedRegion implements PinnedMemory {
  private final CoreDevice device;
  private final DevicePort port;
  private final HostKernel kernel;
  private final Journal journal;
  private final long createdNanos;
  private final PinDesk desk;
  private final Subject subject;
  private final PinnableMemory memory;
  private final MemorySegment pages;
  private final PinRequest request;
  private final PinPlan decided;
  private final PinDesk.Claim claim;
  private final @Nullable TurnFile turns;
  private final Pacer pacer;
  private final Place place;
  private final CompletableFuture<Void> ready = new CompletableFuture<>();

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  // Guarded by the lock:
  private final List<Registration> registrations = new ArrayList<>();
  private final List<DeviceView> views = new ArrayList<>();
  private final List<String> notes;
  private Phase phase = Phase.PINNING;
  private boolean started;
  private boolean paused;
  private boolean held;
  private boolean calling;
  private @Nullable RuntimeException failure;

  private volatile long watermarkBytes;
  private final AtomicLong registeredBytes = new AtomicLong();
  private volatile long longestCallNanos;
  private volatile boolean flatOut;

  /** Known to the pinning thread alone. */
  private boolean overBudget;

  private StandardPinnedRegion(
      CoreDevice device,
      Subject subject,
      PinRequest request,
      PinPlan decided,
      PinDesk.Claim claim,
      List<String> notes,
      @Nullable TurnFile turns,
      Pacer pacer) {
    this.device = device;
    this.port = device.port();
    this.kernel = device.backend().kernel();
    this.desk = device.backend().pins();
    this.subject = subject;
    this.memory = subject.seen();
    this.pages = memory.wholePages();
    this.request = request;
    this.decided = decided;
    this.claim = claim;
    this.notes = notes;
    this.turns = turns;
    this.pacer = pacer;
    this.journal = device.journal();
    this.createdNanos = kernel.nanoTime();
    this.views.add(new DeviceView(device, memory.backingPageBytes()));
    this.place = new Place(this);
  }

  /** Decides, takes the addresses, and starts the thread. */
  static StandardPinnedRegion start(
      CoreDevice device, Subject subject, PinRequest request, Manner manner) {
    device.standing().requireOpen();
    PinnableMemory memory = subject.seen();
    HostKernel kernel = device.backend().kernel();
    PinPlan decided =
        PinPlan.of(
            device.port().traits(memory.backingPageBytes()),
            kernel,
            memory.mappedBytes(),
            memory.backingPageBytes(),
            request);
    List<String> notes = new ArrayList<>(decided.notes());
    if (memory.isPinnedByDriver()) {
      notes.add("the driver allocated this memory pinned: no call pins or unpins it");
    }
    PinDesk desk = device.backend().pins();
    TurnFile turns = request.pacing().turns().map(path -> TurnFile.open(kernel, path)).orElse(null);
    PinDesk.Claim claim = null;
    StandardPinnedRegion region;
    try {
      claim = desk.claim(memory.wholePages(), decided.traits(), request.ignoredBounds(), notes);
      region =
          new StandardPinnedRegion(
              device, subject, request, decided, claim, notes, turns, pacer(request, manner));
      region.place.enrol();
    } catch (Throwable unwound) {
      if (claim != null) {
        desk.keepOnly(claim, 0);
      }
      if (turns != null) {
        turns.close();
      }
      throw unwound;
    }
    try {
      region.begin();
    } catch (Throwable unwound) {
      region.close();
      throw unwound;
    }
    return region;
  }

  private static Pacer pacer(PinRequest request, Manner manner) {
    Duration otherwise =
        switch (manner) {
          case WAITED_FOR -> Duration.ZERO;
          case BACKGROUND -> PinPacing.DEFAULT_BUDGET;
        };
    Duration budget = request.pacing().perCall().orElse(otherwise);
    // A neighbour must wake within the pause: of 0.1 ms it misses one in twenty, and waits for two
    // calls. Calls that unpin are shorter, and two of them are no longer than one that pins.
    Duration pin = request.pacing().between().orElse(budget.multipliedBy(7).dividedBy(20));
    Duration unpin = request.pacing().between().orElse(budget.dividedBy(4));
    return new Pacer(budget.toNanos(), pin.toNanos(), unpin.toNanos());
  }

  // ---- pinning

  private void begin() {
    Optional<HostKernel.ThreadPlace> here = threadPlace();
    Thread thread =
        Thread.ofPlatform()
            .name("holdfast-pin-" + device.backend().id())
            .daemon()
            .unstarted(() -> run(here));
    request
        .pacing()
        .startAfter()
        .ifPresentOrElse(
            signal -> signal.whenComplete((_, failed) -> signalled(failed)), () -> signalled(null));
    thread.start();
  }

  private Optional<HostKernel.ThreadPlace> threadPlace() {
    try {
      return Optional.of(kernel.threadPlace());
    } catch (HoldfastException _) {
      return Optional.empty(); // a port without places: there is nothing to hand on
    }
  }

  private void signalled(@Nullable Throwable failed) {
    lock.lock();
    try {
      if (failed != null && phase == Phase.PINNING) {
        failure =
            new PinException(
                PinException.Reason.NOT_STARTED,
                0,
                memory.mappedBytes(),
                Optional.empty(),
                "the stage after which pinning was to start has failed: " + failed,
                "",
                failed);
      }
      started = true;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  private void run(Optional<HostKernel.ThreadPlace> placeOfCaller) {
    try {
      placeOfCaller.ifPresent(this::placeThread);
      pinAll();
    } catch (RuntimeException reason) {
      fail(reason);
    } catch (Error error) {
      fail(new IllegalStateException("pinning " + place.name() + " broke off", error));
    }
  }

  /** Pages that the driver touches first then come from where the caller's would. */
  private void placeThread(HostKernel.ThreadPlace callers) {
    try {
      kernel.placeThread(callers);
    } catch (HoldfastException refused) {
      note("the pinning thread runs at another place than its caller: " + refused.getMessage());
    }
  }

  private void pinAll() {
    RegistrationPlan plan = decided.plan();
    long most =
        switch (plan.policy()) {
          case NEVER_INSIDE_BLOCK -> plan.capBytes();
          case INSIDE_BLOCK_IF_NEEDED -> plan.sliceBytes();
        };
    if (request.sliceBytes().isPresent() && plan.policy() == CutPolicy.NEVER_INSIDE_BLOCK) {
      most = Math.min(most, plan.sliceBytes());
    }
    long from = 0;
    while (from < plan.mappedBytes()) {
      if (!awaitGo()) {
        return;
      }
      long to = plan.nextCut(from, Math.min(most, pacer.wantedBytes()));
      memory.awaitPopulated(to);
      switch (register(from, to)) {
        case Attempt.Made _ -> from = to;
        case Attempt.NotNow _ -> {} // paused, held or stopped meanwhile
        case Attempt.Refused(PinException why) -> {
          long smaller = halved(plan, from, to, why);
          if (smaller > 0) {
            most = smaller;
          } else if (request.onFailure() == OnFailure.KEEP_WHAT_WORKED) {
            note(
                String.format(
                    Locale.ROOT, "kept what worked, %d bytes: %s", from, why.getMessage()));
            end(Phase.STOPPED, why);
            return;
          } else {
            throw why;
          }
        }
      }
    }
    end(Phase.DONE, null);
  }

  /**
   * How many bytes to try after a refusal, or 0 where smaller ranges are not wanted or not there.
   */
  private long halved(RegistrationPlan plan, long from, long to, PinException refused) {
    if (request.onFailure() != OnFailure.HALVE
        || refused.getSuppressed().length > 0 // the range is registered and stuck
        || refused.driver().filter(answer -> sizeMayMatter(answer.fault())).isEmpty()) {
      return 0;
    }
    long half = (to - from) / 2;
    if (half == 0 || plan.nextCut(from, half) >= to) {
      return 0;
    }
    note(
        String.format(
            Locale.ROOT,
            "%d bytes at offset %d were refused (%s); trying at most %d",
            to - from,
            from,
            refused.getMessage(),
            half));
    return half;
  }

  private static boolean sizeMayMatter(DriverFault fault) {
    return switch (fault) {
      case OUT_OF_MEMORY, INVALID_ARGUMENT, OTHER -> true;
      case ALREADY_REGISTERED,
          NOT_REGISTERED,
          INVALID_HANDLE,
          NOT_SUPPORTED,
          NOT_PERMITTED,
          CAPTURE,
          DEVICE_LOST,
          SHUTTING_DOWN ->
          false;
    };
  }

  /** One driver call, in turn with others, and the pause behind it. */
  private Attempt register(long from, long to) {
    TurnFile file = turns;
    if (file != null && !file.take(this::mayCall)) {
      return new Attempt.NotNow();
    }
    boolean last = to == decided.plan().mappedBytes();
    desk.turn().lock();
    try {
      if (!enterCall()) {
        return new Attempt.NotNow();
      }
      Attempt attempt;
      try {
        attempt = record(from, to);
      } finally {
        leaveCall();
      }
      if (!last) {
        rest(pacer.pinPauseNanos(desk.copiesInFlight()));
      }
      return attempt;
    } finally {
      desk.turn().unlock();
      pass(file, last);
    }
  }

  private void pass(@Nullable TurnFile file, boolean last) {
    if (file != null) {
      file.pass();
      if (!last) {
        kernel.pause(TurnFile.REST_NANOS);
      }
    }
  }

  private void rest(long nanos) {
    if (!flatOut && nanos > 0) {
      Object told = journal.begin(Activity.PAUSE);
      kernel.pause(nanos);
      journal.done(Activity.PAUSE, told, place, 0, nanos);
      desk.rested();
    }
  }

  private Attempt record(long from, long to) {
    MemorySegment range = pages.asSlice(from, to - from);
    Object told = journal.begin(Activity.REGISTER);
    long begun = kernel.nanoTime();
    try {
      if (!memory.isPinnedByDriver()) {
        port.register(range);
      }
    } catch (DriverException answer) {
      ranFor(kernel.nanoTime() - begun);
      journal.failed(Activity.REGISTER, told, place, kernel.nanoTime() - begun, answer);
      return refused(range, from, answer);
    }
    long nanos = kernel.nanoTime() - begun;
    ranFor(nanos);
    journal.registered(
        told, place, memory.offsetBytes(), from, to - from, memory.mappedBytes(), nanos);
    pacer.took(to - from, nanos);
    noteIfTooLong(from, to, nanos);
    Registration made = new Registration(range, from, nanos);
    lock.lock();
    try {
      registrations.add(made);
    } finally {
      lock.unlock();
    }
    registeredBytes.addAndGet(made.bytes());
    desk.count(claim, made.bytes());
    try {
      publish(made);
      return new Attempt.Made();
    } catch (DriverException answer) {
      lock.lock();
      try {
        registrations.removeLast();
      } finally {
        lock.unlock();
      }
      Attempt.Refused refused = refused(range, from, answer);
      unregister(made).ifPresent(refused.why::addSuppressed);
      return refused;
    }
  }

  /** A call that takes longer than the budget although none can be smaller is told, once. */
  private void noteIfTooLong(long from, long to, long nanos) {
    if (!overBudget && pacer.isOver(nanos) && decided.plan().nextCut(from, 1) == to) {
      overBudget = true;
      note(
          String.format(
              Locale.ROOT,
              "a driver call of %d bytes, which cannot be smaller here, took %d us and should take"
                  + " %d: calls of other threads may have waited as long. Nothing has failed; allow"
                  + " more by PinPacing.polite, or choose smaller blocks or pages",
              to - from,
              nanos / 1000,
              pacer.budgetNanos() / 1000));
    }
  }

  private Attempt.Refused refused(MemorySegment range, long from, DriverException answer) {
    return new Attempt.Refused(
        Refusal.of(device, range, from, decided.plan().mappedBytes(), desk.pinnedBytes(), answer));
  }

  /** Makes a registration usable: every device that copies from here gets its address first. */
  private void publish(Registration made) {
    lock.lock();
    try {
      DeviceView own = views.getFirst();
      made.deviceAddress = own.append(made.range, made.offset);
      for (DeviceView view : views.subList(1, views.size())) {
        appendTo(view, made);
      }
      watermarkBytes = made.offset + made.bytes();
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  private static void appendTo(DeviceView view, Registration made) {
    if (view.isBroken() || !view.device().standing().isOpen()) {
      return;
    }
    try {
      view.append(made.range, made.offset);
    } catch (RuntimeException reason) {
      view.breakOff(reason);
    }
  }

  private void ranFor(long nanos) {
    lock.lock();
    try {
      longestCallNanos = Math.max(longestCallNanos, nanos);
    } finally {
      lock.unlock();
    }
  }

  private void note(String text) {
    journal.fallback(place, text);
    lock.lock();
    try {
      notes.add(text);
    } finally {
      lock.unlock();
    }
  }

  // ---- between calls

  /** Waits while paused, held or not started; false once pinning is to end. */
  private boolean awaitGo() {
    lock.lock();
    try {
      while (phase == Phase.PINNING && failure == null && (paused || held || !started)) {
        changed.awaitUninterruptibly();
      }
      if (phase == Phase.PINNING && failure != null) {
        throw failure; // the signal to start failed
      }
      return phase == Phase.PINNING;
    } finally {
      lock.unlock();
    }
  }

  private boolean mayCall() {
    lock.lock();
    try {
      return phase == Phase.PINNING && !paused && !held;
    } finally {
      lock.unlock();
    }
  }

  private boolean enterCall() {
    lock.lock();
    try {
      if (phase != Phase.PINNING || paused || held) {
        return false;
      }
      calling = true;
      return true;
    } finally {
      lock.unlock();
    }
  }

  private void leaveCall() {
    boolean ended;
    lock.lock();
    try {
      calling = false;
      ended = phase == Phase.STOPPED;
      if (ended && failure == null) {
        failure = cancelled("cancelled");
      }
      changed.signalAll();
    } finally {
      lock.unlock();
    }
    if (ended) {
      settle();
    }
  }

  /** Ends pinning, unless it has ended otherwise. */
  private void end(Phase how, @Nullable RuntimeException why) {
    lock.lock();
    try {
      if (phase != Phase.PINNING) {
        return;
      }
      phase = how;
      failure = why;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
    if (how == Phase.DONE) {
      journal.done(Activity.READY, null, place, watermarkBytes, kernel.nanoTime() - createdNanos);
    }
    settle();
  }

  /** Tells those who wait, and gives back addresses that will not be pinned. */
  private void settle() {
    desk.keepOnly(claim, watermarkBytes);
    tell(failure());
  }

  /**
   * Tells those who wait. What they hang on the future runs then and may close this, so it runs on
   * a thread that no close waits for.
   */
  private void tell(@Nullable RuntimeException why) {
    Runnable completion =
        why == null ? () -> ready.complete(null) : () -> ready.completeExceptionally(why);
    try {
      var _ = device.workers().start(completion);
    } catch (RejectedExecutionException closing) {
      completion.run();
    }
  }

  /** All goes back, if those who stand on it can be closed; then those who wait are told. */
  private void fail(RuntimeException reason) {
    lock.lock();
    try {
      if (phase != Phase.PINNING) {
        return;
      }
      phase = Phase.FAILED;
      failure = reason;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
    try {
      place.close();
    } catch (RuntimeException more) {
      reason.addSuppressed(more);
      if (more instanceof BusyException) {
        note("ranges stay pinned until closed: " + more.getMessage());
      }
    }
    tell(reason);
  }

  private @Nullable RuntimeException failure() {
    lock.lock();
    try {
      return failure;
    } finally {
      lock.unlock();
    }
  }

  /** Waits for the end of pinning, or of its roll-back. */
  void awaitEnd() {
    try {
      ready.join();
    } catch (CompletionException _) {
      RuntimeException why = Objects.requireNonNull(failure(), "failure");
      if (phaseNow() != Phase.STOPPED) {
        throw why;
      }
    }
  }

  private Phase phaseNow() {
    lock.lock();
    try {
      return phase;
    } finally {
      lock.unlock();
    }
  }

  // ---- unpinning

  /** Unregisters in reverse, every range whatever the others answered. */
  private void unregisterAll() {
    List<Registration> all;
    lock.lock();
    try {
      all = new ArrayList<>(registrations);
      registrations.clear();
      watermarkBytes = 0;
    } finally {
      lock.unlock();
    }
    List<RuntimeException> failures = new ArrayList<>();
    for (int i = all.size() - 1; i >= 0; i--) {
      try {
        unregisterInTurn(all.get(i), i == 0).ifPresent(failures::add);
      } catch (RuntimeException failed) {
        failures.add(failed);
      }
    }
    if (!failures.isEmpty()) {
      RuntimeException first = failures.removeFirst();
      failures.forEach(first::addSuppressed);
      throw first;
    }
  }

  private Optional<PinException> unregisterInTurn(Registration one, boolean last) {
    TurnFile file = flatOut ? null : turns;
    if (file != null) {
      file.take(() -> true);
    }
    desk.turn().lock();
    try {
      long begun = kernel.nanoTime();
      Optional<PinException> failed = unregister(one);
      long nanos = kernel.nanoTime() - begun;
      // Unregistering is quick: as many calls as one may take together, then a pause.
      if (!last && !pacer.mayGoOn(desk.held(nanos), nanos)) {
        rest(pacer.unpinPauseNanos(desk.copiesInFlight()));
      }
      return failed;
    } finally {
      desk.turn().unlock();
      pass(file, last);
    }
  }

  private Optional<PinException> unregister(Registration one) {
    Object told = journal.begin(Activity.UNREGISTER);
    long begun = kernel.nanoTime();
    try {
      if (!memory.isPinnedByDriver()) {
        port.unregister(one.range);
      }
      return Optional.empty();
    } catch (RuntimeException failed) {
      DriverException answer = PinDesk.answer(device.backend().id(), "unregister", failed);
      desk.quarantine(device, one.range, memory.keepMapped(one.offset, one.bytes()), answer);
      journal.done(Activity.QUARANTINE, null, place, one.bytes(), 0);
      journal.warn(place, "a range stays pinned and mapped: " + answer.getMessage());
      return Optional.of(
          new PinException(
              PinException.Reason.STILL_PINNED,
              one.offset,
              one.bytes(),
              Optional.empty(),
              String.format(
                  Locale.ROOT,
                  "%d bytes at 0x%x, offset %d, stay pinned and mapped: %s",
                  one.bytes(),
                  one.range.address(),
                  one.offset,
                  answer.getMessage()),
              "Try Pinner.retryQuarantine() later",
              answer));
    } finally {
      ranFor(kernel.nanoTime() - begun);
      journal.done(Activity.UNREGISTER, told, place, one.bytes(), kernel.nanoTime() - begun);
      desk.count(claim, -one.bytes());
      registeredBytes.addAndGet(-one.bytes());
    }
  }

  private void release() {
    lock.lock();
    try {
      if (phase == Phase.PINNING) {
        failure = cancelled("closed");
      }
      phase = phase == Phase.FAILED ? Phase.FAILED : Phase.CLOSED;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
    try {
      // On a thread of ours: an interrupt of the closing thread's must not cut pauses short.
      join(device.workers().start(this::unregisterAll));
    } finally {
      desk.keepOnly(claim, 0);
      if (turns != null) {
        turns.close();
      }
      subject.unpinned().run();
      journal.done(Activity.CLOSE, null, place, 0, 0);
      if (phaseNow() != Phase.FAILED) {
        RuntimeException why = failure();
        if (why != null) {
          tell(why);
        }
      }
    }
  }

  private static void join(CompletableFuture<Void> task) {
    try {
      task.join();
    } catch (CompletionException wrapped) {
      if (wrapped.getCause() instanceof RuntimeException reason) {
        throw reason;
      }
      if (wrapped.getCause() instanceof Error error) {
        throw error;
      }
      throw wrapped;
    }
  }

  private PinException cancelled(String how) {
    return new PinException(
        PinException.Reason.CANCELLED,
        watermarkBytes,
        memory.mappedBytes() - watermarkBytes,
        Optional.empty(),
        String.format(
            Locale.ROOT,
            "pinning was %s after %d of %d bytes",
            how,
            watermarkBytes,
            memory.mappedBytes()),
        "",
        null);
  }

  // ---- what engines and copies see

  @Override
  public HostMemory memory() {
    return subject.given();
  }

  @Override
  public RegistrationPlan plan() {
    return decided.plan();
  }

  @Override
  public long watermarkBytes() {
    return watermarkBytes;
  }

  @Override
  public long registeredBytes() {
    return registeredBytes.get();
  }

  @Override
  public CompletableFuture<Void> ready() {
    return ready.copy();
  }

  @Override
  public List<PinnedRange> ranges() {
    lock.lock();
    try {
      List<PinnedRange> ranges = new ArrayList<>(registrations.size());
      for (Registration one : registrations) {
        if (one.offset + one.bytes() <= watermarkBytes) {
          DeviceSegment seen = new Segment(device.info(), one.deviceAddress, one.bytes(), place);
          ranges.add(new PinnedRange(one.offset, one.bytes(), seen, one.nanos));
        }
      }
      return List.copyOf(ranges);
    } finally {
      lock.unlock();
    }
  }

  @Override
  public PinReceipt receipt() {
    lock.lock();
    try {
      return new PinReceipt(
          decided.bounds().capBytes(),
          decided.bounds().described(),
          decided.traits().pinModel().name(),
          ranges(),
          longestCallNanos,
          longestPossibleCallBytes(),
          notes);
    } finally {
      lock.unlock();
    }
  }

  private long longestPossibleCallBytes() {
    long longest = phase == Phase.PINNING ? decided.plan().longestCallBytes() : 0;
    for (Registration one : registrations) {
      longest = Math.max(longest, one.bytes());
    }
    return longest;
  }

  @Override
  public HostBlocks blocks(BlockLayout layout) {
    place.requireOpen();
    if (layout.extentBytes() > memory.logicalBytes()) {
      throw new IllegalArgumentException(
          String.format(
              Locale.ROOT,
              "the layout reaches to byte %d, the memory has %d",
              layout.extentBytes(),
              memory.logicalBytes()));
    }
    return HostSlots.of(this, layout);
  }

  @Override
  public void pause() {
    lock.lock();
    try {
      paused = true;
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void resume() {
    lock.lock();
    try {
      paused = false;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void cancel() {
    boolean atRest;
    lock.lock();
    try {
      if (phase != Phase.PINNING) {
        return;
      }
      phase = Phase.STOPPED;
      atRest = !calling; // else the present call is still counted
      if (atRest) {
        failure = cancelled("cancelled");
      }
      changed.signalAll();
    } finally {
      lock.unlock();
    }
    if (atRest) {
      settle();
    }
  }

  @Override
  public void close() {
    place.close();
  }

  @Override
  public void closeFlatOut() {
    flatOut = true;
    try {
      place.close();
    } finally {
      if (place.isOpen()) {
        flatOut = false;
      }
    }
  }

  @Override
  public Standing standing() {
    return place;
  }

  @Override
  public HostAddresses addressesOn(CoreDevice asker) {
    place.requireOpen();
    if (asker.backend() != device.backend()) {
      throw new IllegalArgumentException(
          asker + " is not of backend " + device.backend().id() + ", which has pinned this memory");
    }
    return device.workers().call(() -> viewOf(asker));
  }

  private DeviceView viewOf(CoreDevice asker) {
    lock.lock();
    try {
      for (DeviceView view : views) {
        if (view.device() == asker && !view.isBroken()) {
          return view;
        }
      }
      DeviceView own = views.getFirst();
      views.removeIf(view -> !view.equals(own) && !view.device().standing().isOpen());
      DeviceView view = new DeviceView(asker, memory.backingPageBytes());
      for (Registration one : registrations) {
        if (one.offset + one.bytes() <= watermarkBytes) {
          view.append(one.range, one.offset);
        }
      }
      views.add(view);
      return view;
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void awaitWatermark(long bytes) {
    if (bytes < 0 || bytes > memory.mappedBytes()) {
      throw new IndexOutOfBoundsException(
          bytes + " bytes of " + memory.mappedBytes() + " cannot be waited for");
    }
    lock.lock();
    try {
      while (watermarkBytes < bytes) {
        if (phase == Phase.CLOSED) {
          place.requireOpen();
        }
        if (phase != Phase.PINNING && !calling) {
          throw Objects.requireNonNull(failure, "failure");
        }
        changed.awaitUninterruptibly();
      }
    } finally {
      lock.unlock();
    }
  }

  @Override
  public MemorySegment usable(long offsetBytes, long bytes) {
    // A slice: the whole has no view before all of it is populated.
    long start = Bytes.roundDown(offsetBytes, memory.backingPageBytes());
    return memory
        .region()
        .slice(memory.offsetBytes() + start, offsetBytes + bytes - start)
        .segment()
        .asSlice(offsetBytes - start, bytes);
  }

  @Override
  public String toString() {
    return place.name();
  }

  /** Whether somebody waits for the end. */
  enum Manner {
    /** Flat out unless asked otherwise. */
    WAITED_FOR,
    /** Politely unless asked otherwise. */
    BACKGROUND
  }

  /** How far pinning has come. */
  private enum Phase {
    /** More ranges follow. */
    PINNING,
    /** All of it is pinned. */
    DONE,
    /** No more follow; what is pinned stays until closed. */
    STOPPED,
    /** A range was refused; all goes back. */
    FAILED,
    /** Nothing is pinned any more, but what is in quarantine. */
    CLOSED
  }

  /**
   * What is pinned.
   *
   * @param given as the caller named it
   * @param seen the same memory, with what pinning needs
   * @param unpinned run once nothing of it is pinned any more, or in quarantine only
   */
  record Subject(HostMemory given, PinnableMemory seen, Runnable unpinned) {}

  /** What became of a driver call. */
  private sealed interface Attempt {
    /** The range is pinned and usable. */
    record Made() implements Attempt {}

    /** The call was not made. */
    record NotNow() implements Attempt {}

    /** The range is not pinned. */
    record Refused(PinException why) implements Attempt {}
  }

  /** One registration, as it was made: the only thing it is ever undone from. */
  private static final class Registration {
    private final MemorySegment range;
    private final long offset;
    private final long nanos;
    private long deviceAddress;

    Registration(MemorySegment range, long offset, long nanos) {
      this.range = range;
      this.offset = offset;
      this.nanos = nanos;
    }

    private long bytes() {
      return range.byteSize();
    }
  }

  /** Its place in the tree. */
  private static final class Place extends Standing implements SegmentOwner {
    private final StandardPinnedRegion region;
    private final UseCount uses = new UseCount();

    Place(StandardPinnedRegion region) {
      super(
          String.format(
              Locale.ROOT,
              "pins of %d bytes at 0x%x",
              region.memory.mappedBytes(),
              region.pages.address()),
          region.memory.standing(),
          region.device.standing());
      this.region = region;
    }

    @Override
    public void requireUsable() {
      requireOpen();
    }

    @Override
    public Standing standing() {
      return this;
    }

    @Override
    public UseCount uses() {
      return uses;
    }

    @Override
    protected void shut() {
      uses.shut();
      region.hold();
    }

    @Override
    protected void reopen() {
      region.letGo();
      uses.reopen();
    }

    @Override
    protected void quiesce() {
      region.awaitRest();
      if (!uses.awaitUnused(TimeUnit.MINUTES.toNanos(1))) {
        throw new BusyException(
            "closing " + name(), List.of(uses.uses() + " copies that do not end"));
      }
    }

    @Override
    protected void release() {
      region.release();
    }
  }

  private void hold() {
    lock.lock();
    try {
      held = true;
    } finally {
      lock.unlock();
    }
  }

  private void letGo() {
    lock.lock();
    try {
      held = false;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Waits until no driver call of the pinning thread runs; such a call always ends. */
  private void awaitRest() {
    lock.lock();
    try {
      while (calling) {
        changed.awaitUninterruptibly();
      }
    } finally {
      lock.unlock();
    }
  }
}
