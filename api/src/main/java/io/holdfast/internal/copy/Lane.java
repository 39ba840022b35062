package io.holdfast.internal.copy;

import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.Completion;
import io.holdfast.copy.CopyDecision;
import io.holdfast.copy.CopyException;
import io.holdfast.copy.CopyException.Descriptor;
import io.holdfast.copy.CopyOptions.Timing;
import io.holdfast.copy.CopyPath;
import io.holdfast.copy.CopyRoute.Direction;
import io.holdfast.device.Order;
import io.holdfast.error.BusyException;
import io.holdfast.error.Category;
import io.holdfast.error.DriverException;
import io.holdfast.error.DriverFault;
import io.holdfast.event.Activity;
import io.holdfast.internal.SegmentOwner;
import io.holdfast.internal.core.CoreBackend;
import io.holdfast.internal.core.Poller;
import io.holdfast.internal.slots.CopyLane;
import io.holdfast.internal.slots.HostSlots;
import io.holdfast.internal.tree.UseCount;
import io.holdfast.pin.HostBlocks.Access;
import io.holdfast.spi.BatchCopyPort.SourceReads;
import io.holdfast.spi.CopyTable;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.DeviceRange;
import io.holdfast.spi.EventHandle;
import io.holdfast.spi.EventKind;
import io.holdfast.spi.StreamHandle;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * One direction of a route: a stream of ours, and the submissions on it in order.
 *
 * <p>A submission goes like this. Under the lane's lock: enter what must stay, check the device
 * blocks. Under the slots' lock as well: check and claim the slots, let the stream wait for
 * conflicting copies and for the caller's order, see that it did not join a capture. From there on
 * the submission has a number, and whatever happens it gets an end. Then, under the lane's lock
 * alone: rows and driver calls in turn, the event behind them, publication. Allocates nothing once
 * it has seen a submission as large and as many in flight.
 */
final class Lane implements Poller.Watched, CopyLane {
  private final StandardRoute route;
  private final Direction direction;
  private final Access use;
  private final DevicePort port;
  private final HostSlots slots;
  private final LaneStream stream;
  private final Tables tables;
  private final Descriptors descriptors;
  private final DeviceBlockSet seen = new DeviceBlockSet();
  private final ReentrantLock lock = new ReentrantLock();
  private final LanePoint dryRun = new LanePoint(this, 0);

  /** For the consumers of the submission at hand; a completion could be another's by then. */
  private final LanePoint justRecorded = new LanePoint(this, 0);

  private final Rectangles rectangles;
  private long[] waits = new long[4];

  /**
   * Whether the sources of the submission at hand change no more; of a load, no store fills one.
   */
  private boolean stable;

  private int number;

  private final Flights flights = new Flights();
  private volatile long recorded;
  private volatile long completed;
  private final AtomicReference<@Nullable Thread> looker = new AtomicReference<>();

  Lane(StandardRoute route, Direction direction) {
    this.route = route;
    this.direction = direction;
    this.use = direction == Direction.STORE ? Access.WRITE : Access.READ;
    this.port = route.core().port();
    this.slots = route.slots();
    this.descriptors = new Descriptors(route.hostAddresses(), direction);
    this.rectangles = new Rectangles(port, route.hostAddresses(), direction);
    this.tables =
        new Tables(
            route.core(),
            direction == Direction.STORE
                ? CopyTable.Direction.DEVICE_TO_HOST
                : CopyTable.Direction.HOST_TO_DEVICE,
            route.rowsOfTable());
    try {
      this.stream = new LaneStream(this, route.core(), route.options().priority());
    } catch (Throwable failure) {
      tables.free();
      throw failure;
    }
    slots.enroll(this);
  }

  @Override
  public void begin(int ours, long lastSequence) {
    number = ours;
    completed = lastSequence;
    recorded = lastSequence;
  }

  // ---- submission

  /** Submits, or refuses and leaves everything as it was. */
  Completion submit(BlockCopies copies, Order order, StandardCompletion completion) {
    long begun = System.nanoTime();
    completion.arm();
    boolean refused = true;
    lock.lock();
    try {
      if (copies.pairs() == 0) {
        route.requireOpen();
        completion.doneWithNothing(route.chooser().forNothing());
        refused = false;
        return completion;
      }
      Geometry geometry = route.enter();
      boolean left = true;
      try {
        checkDeviceBlocks(copies, route.countIn(geometry));
        mend();
        Flight flight = nextFlight();
        descriptors.begin(copies, geometry);
        long sequence = reserve(copies, order, flight);
        left = false; // from here on the device's end leaves
        refused = false;
        go(copies, order, geometry, flight, sequence, completion, begun);
        return completion;
      } finally {
        descriptors.end();
        if (left) {
          route.leave(geometry.owners);
        }
      }
    } finally {
      lock.unlock();
      if (refused) {
        completion.disarm();
      }
    }
  }

  /** Refuses device blocks as a submission would. */
  void check(BlockCopies copies) {
    lock.lock();
    try {
      Geometry geometry = route.enter();
      try {
        checkDeviceBlocks(copies, route.countIn(geometry));
      } finally {
        route.leave(geometry.owners);
      }
    } finally {
      lock.unlock();
    }
  }

  private void checkDeviceBlocks(BlockCopies copies, long count) {
    int pairs = copies.pairs();
    boolean ascending = true;
    boolean descending = true;
    long last = 0;
    for (int pair = 0; pair < pairs; pair++) {
      long block = copies.deviceBlock(pair);
      if (block < 0 || block >= count) {
        throw new IndexOutOfBoundsException(
            "pair " + pair + " names device block " + block + " of " + count);
      }
      ascending &= pair == 0 || block > last;
      descending &= pair == 0 || block < last;
      last = block;
    }
    if (direction == Direction.STORE || ascending || descending) {
      return;
    }
    int twice = seen.firstTwice(copies, count);
    if (twice >= 0) {
      throw new IllegalArgumentException(
          "pair "
              + twice
              + " loads into device block "
              + copies.deviceBlock(twice)
              + ", as an earlier pair does");
    }
  }

  /** The flight of the next number, with its events; the ring grows when all are in the air. */
  private Flight nextFlight() {
    long sequence = recorded + 1;
    Flight flight = flights.next(sequence, completed);
    boolean timed = route.options().timing() == Timing.ON;
    if (flight.end == null) {
      flight.end = port.createEvent(timed ? EventKind.TIMED : EventKind.ORDER);
    }
    if (timed && flight.start == null) {
      flight.start = port.createEvent(EventKind.TIMED);
    }
    return flight;
  }

  /** Everything that can refuse; gives the submission its number. */
  private long reserve(BlockCopies copies, Order order, Flight flight) {
    slots.lock();
    try {
      int lanes = slots.laneNumbers();
      if (lanes > waits.length) {
        waits = new long[2 * lanes];
      }
      long sequence = recorded + 1;
      stable = slots.claim(copies, use, number, sequence, waits);
      try {
        if (order instanceof Order.TwoSided two) {
          two.release(dryRun); // a consumer that would refuse does so before anything is submitted
        }
        slots.holdBack(waits, port, stream.handle());
        stream.hold(order);
      } catch (Throwable refusal) {
        slots.giveUp(copies, use);
        throw refusal;
      }
      flight.recorded = false;
      flight.stream = stream.handle();
      flight.failure = null;
      return sequence;
    } catch (Throwable refusal) {
      Arrays.fill(waits, 0);
      throw refusal;
    } finally {
      slots.unlock();
    }
  }

  /** Which stream is idle once the copies in flight have ended; none for now. */
  void inTheAir(@Nullable StreamHandle on) {
    for (long sequence = completed + 1; sequence <= recorded; sequence++) {
      flights.of(sequence).stream = on;
    }
  }

  /** Makes another stream come after all copies in flight, whatever handle it was given. */
  void holdBackByAll(StreamHandle fresh) {
    if (recorded > completed) {
      holdBackOther(port, fresh, recorded);
    }
  }

  /** For messages. */
  String oneCopy() {
    return direction == Direction.STORE ? "a store" : "a load";
  }

  /**
   * Does what a submission before could not do: others could not wait for that one's end, and no
   * stream of ours may join a capture while only its being idle tells of an end.
   */
  private void mend() {
    stream.require();
    Flight last = flights.of(recorded);
    if (recorded > completed && !last.recorded) {
      port.recordEvent(end(last), stream.handle());
      last.recorded = true;
    }
  }

  /** From the number on: whatever happens here, the submission is published and will end. */
  private void go(
      BlockCopies copies,
      Order order,
      Geometry geometry,
      Flight flight,
      long sequence,
      StandardCompletion completion,
      long begun) {
    long pairs = copies.pairs();
    long bytes = pairs * route.blockBytes();
    completion.submitted(this, sequence, bytes, pairs * route.shapeParts(), begun);
    flight.completion = completion;
    flight.owners = geometry.owners;
    Throwable failure = null;
    try {
      if (flight.start != null) {
        port.recordEvent(flight.start, stream.handle());
      }
      CopyPath path = route.chooser().choose(direction, descriptors, bytes);
      long rows =
          path == CopyPath.PITCHED
              ? rectangles.copy(copies, geometry, stream.handle())
              : goRows(path, bytes, sequence);
      completion.went(path, rows, System.nanoTime() - begun);
    } catch (Throwable refused) {
      failure = refused;
    }
    try {
      recordEnd(flight);
    } catch (Throwable refused) {
      if (failure == null) {
        failure = refused;
      }
    }
    if (failure == null) {
      recorded = sequence;
      route.core().poller().wake();
      if (order instanceof Order.TwoSided two) {
        justRecorded.sequence = sequence;
        two.release(justRecorded);
      }
    } else {
      fail(failure, order, flight, sequence, completion);
    }
  }

  /** Where the driver refuses, once more: others must be able to wait for what was submitted. */
  private void recordEnd(Flight flight) {
    try {
      port.recordEvent(end(flight), stream.handle());
      flight.recorded = true;
    } catch (Throwable refused) {
      try {
        port.recordEvent(end(flight), stream.handle());
        flight.recorded = true;
      } catch (RuntimeException again) {
        refused.addSuppressed(again);
      }
      throw refused;
    }
  }

  /** The caller learns of it here and now; the lane still waits until the device is done. */
  private void fail(
      Throwable failure, Order order, Flight flight, long sequence, StandardCompletion completion) {
    RuntimeException told =
        switch (failure) {
          case DriverException driver ->
              new CopyException(driver, OptionalLong.empty(), Optional.empty());
          case RuntimeException exception -> exception;
          default -> new IllegalStateException("a submission was broken off", failure);
        };
    flight.completion = null;
    recorded = sequence;
    route.core().poller().wake();
    completion.failed(told);
    if (order instanceof Order.TwoSided two && flight.recorded) {
      try {
        two.release(new LanePoint(this, sequence)); // what was submitted still writes
      } catch (RuntimeException second) {
        told.addSuppressed(second);
      }
    }
    if (failure instanceof Error error) {
      throw error;
    }
    throw told;
  }

  private static EventHandle end(Flight flight) {
    EventHandle end = flight.end;
    if (end == null) {
      throw new IllegalStateException("a flight without its event");
    }
    return end;
  }

  private long goRows(CopyPath path, long bytes, long sequence) {
    int threadBlocks =
        path == CopyPath.KERNEL ? route.chooser().threadBlocks(direction, descriptors, bytes) : 0;
    long expected = descriptors.rowsBeforeSplits();
    long rows = 0;
    while (!descriptors.isEmpty()) {
      long cap = route.mostRows(path, rows);
      Tables.Table table = tables.withRoom(Math.min(cap, Math.max(1, expected - rows)), completed);
      long from = table.used;
      long to = descriptors.fill(table.rows, from, Math.min(from + cap, table.rows.capacity()));
      table.used = to;
      table.lastSequence = sequence;
      try {
        call(path, table, from, to, threadBlocks);
      } catch (DriverException answer) {
        throw named(answer, table.rows, rows, from, to);
      }
      rows += to - from;
    }
    return rows;
  }

  private void call(CopyPath path, Tables.Table table, long from, long to, int threadBlocks) {
    switch (path) {
      case LOOP -> port.copyEach(table.rows, from, to, stream.handle());
      case BATCH ->
          route
              .batchPort()
              .copyBatch(
                  table.rows,
                  from,
                  to,
                  direction == Direction.LOAD && stable
                      ? SourceReads.ANY_TIME
                      : SourceReads.IN_STREAM_ORDER,
                  stream.handle());
      case KERNEL -> {
        DeviceRange columns = table.seenByDevice;
        if (columns == null) {
          throw new IllegalStateException("the device cannot read this copy table");
        }
        route
            .kernelPort()
            .copyByKernel(table.rows, columns, from, to, threadBlocks, stream.handle());
      }
      case PITCHED -> throw new IllegalStateException("rectangles are not rows of a table");
    }
  }

  /** Names the pair and the addresses of the row that the driver names. */
  private CopyException named(
      DriverException answer, CopyTable table, long before, long from, long to) {
    long row = answer.entry().orElse(-1);
    if (row < from || row >= to) {
      return new CopyException(answer, OptionalLong.empty(), Optional.empty());
    }
    descriptors.rewind();
    var _ = descriptors.skip(before + (row - from));
    return new CopyException(
        answer,
        OptionalLong.of(descriptors.pair()),
        Optional.of(new Descriptor(table.source(row), table.destination(row), table.bytes(row))));
  }

  // ---- the end

  CoreBackend backend() {
    return route.core().backend();
  }

  Activity activity() {
    return direction == Direction.STORE ? Activity.STORE : Activity.LOAD;
  }

  @Override
  public long completed() {
    return completed;
  }

  @Override
  public long completedNow() {
    look();
    return completed;
  }

  /**
   * Looks as {@link #poll} does. Where another thread is just looking, waits for its answer, so
   * that what has ended is seen to have ended; that thread makes no call that blocks.
   */
  void look() {
    Thread me = Thread.currentThread();
    for (int patience = 0; looker.get() != me; patience++) {
      if (looker.compareAndSet(null, me)) {
        try {
          var _ = landEnded();
        } finally {
          looker.set(null);
        }
        return;
      }
      if (patience < 100) {
        Thread.onSpinWait();
      } else {
        LockSupport.parkNanos(this, 1_000);
      }
    }
  }

  @Override
  public int poll() {
    if (recorded == completed) {
      return -1;
    }
    if (!looker.compareAndSet(null, Thread.currentThread())) {
      return 0; // somebody else is looking
    }
    int ended;
    try {
      ended = landEnded();
    } finally {
      looker.set(null);
    }
    if (ended > 0) {
      return ended;
    }
    return recorded == completed ? -1 : 0;
  }

  private int landEnded() {
    int ended = 0;
    while (completed < recorded) {
      long sequence = completed + 1;
      Flight flight = flights.of(sequence);
      if (!hasEnded(flight)) {
        break;
      }
      ended++;
      land(flight, sequence);
    }
    return ended;
  }

  /**
   * Whether the device is done with a submission. When the driver answers with an error, the caller
   * is told at once, but memory is kept until the event or an idle stream tells, or the device is
   * lost.
   */
  private boolean hasEnded(Flight flight) {
    if (flight.recorded) {
      try {
        return port.eventPassed(end(flight));
      } catch (RuntimeException answer) {
        StandardCompletion completion = flight.completion;
        flight.failure = answer;
        if (isLost(answer)) {
          return true;
        }
        if (completion != null) {
          flight.completion = null;
          completion.failed(asynchronous(answer));
        }
      }
    }
    return isStreamIdle(flight);
  }

  private boolean isStreamIdle(Flight flight) {
    try {
      return stream.isIdle(flight.stream);
    } catch (DriverException answer) {
      // No such stream: its context is gone. Any other answer says nothing of the copies.
      return isLost(answer) || answer.fault() == DriverFault.INVALID_HANDLE;
    } catch (RuntimeException broken) {
      return true; // nothing more can be learned
    }
  }

  private static boolean isLost(RuntimeException answer) {
    return answer instanceof DriverException driver && driver.category() == Category.DEVICE_LOST;
  }

  private static RuntimeException asynchronous(RuntimeException answer) {
    return answer instanceof DriverException driver
        ? new CopyException(driver, OptionalLong.empty(), Optional.empty())
        : answer;
  }

  private void land(Flight flight, long sequence) {
    StandardCompletion completion = flight.completion;
    RuntimeException failure = flight.failure;
    SegmentOwner[] owners = flight.owners;
    long nanos = failure == null && completion != null ? nanos(flight) : -1;
    flight.completion = null;
    completed = sequence; // the flight can be used again
    route.leave(owners);
    if (completion != null) {
      if (failure == null) {
        completion.done(nanos);
      } else {
        completion.failed(asynchronous(failure));
      }
    }
  }

  private long nanos(Flight flight) {
    EventHandle start = flight.start;
    if (start == null || !flight.recorded) {
      return -1;
    }
    try {
      return port.nanosBetween(start, end(flight));
    } catch (RuntimeException unknown) {
      return -1;
    }
  }

  @Override
  public void holdBack(DevicePort waiter, StreamHandle waiting, long sequence) {
    if (!waiting.equals(stream.handle())) { // what comes to our own comes behind it anyway
      holdBackOther(waiter, waiting, sequence);
    }
  }

  private void holdBackOther(DevicePort waiter, StreamHandle waiting, long sequence) {
    long pause = 1_000;
    while (recorded < sequence) { // its submitter is at it, and waits for nobody
      LockSupport.parkNanos(this, pause);
      pause = Math.min(2 * pause, 100_000);
    }
    if (completed >= sequence) {
      return;
    }
    UseCount uses = route.uses();
    if (!uses.tryEnter()) { // the route is closing: its copies end soon, and its events go then
      awaitEnd(sequence);
      return;
    }
    try {
      Flight flight = flights.of(sequence);
      boolean canBeWaitedFor = flight.recorded;
      if (completed >= sequence) {
        return;
      }
      if (!canBeWaitedFor) {
        throw new BusyException(
            "waiting for a copy on the device",
            List.of(oneCopy() + " in flight whose end the driver would not record"));
      }
      // A number that ended since then has left its flight to a later one: that only waits longer.
      waiter.streamWait(waiting, end(flight));
    } finally {
      uses.leave();
    }
  }

  void awaitEnd(long sequence) {
    boolean interrupted = false;
    while (completedNow() < sequence) {
      LockSupport.parkNanos(this, 20_000);
      interrupted |= Thread.interrupted();
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  // ---- explanation

  /** What would be done, without doing it. */
  CopyDecision explain(BlockCopies copies) {
    lock.lock();
    try {
      if (copies.pairs() == 0) {
        return new CopyDecision(route.chooser().forNothing(), 0, 0, "there is nothing to copy");
      }
      Geometry geometry = route.enter();
      try {
        checkDeviceBlocks(copies, route.countIn(geometry));
        slots.requireReady(copies);
        descriptors.begin(copies, geometry);
        long bytes = copies.pairs() * route.blockBytes();
        CopyPath path = route.chooser().choose(direction, descriptors, bytes);
        String because = route.chooser().because(path, direction, descriptors, bytes);
        if (path == CopyPath.PITCHED) {
          long calls = rectangles.count(copies, geometry);
          return new CopyDecision(path, calls, Math.toIntExact(calls), because);
        }
        long rows = descriptors.skip(Long.MAX_VALUE);
        long calls = path == CopyPath.LOOP ? rows : route.calls(path, rows);
        return new CopyDecision(path, rows, Math.toIntExact(calls), because);
      } finally {
        descriptors.end();
        route.leave(geometry.owners);
      }
    } finally {
      lock.unlock();
    }
  }

  // ---- going

  /** Gives everything back; no submission is left. */
  void free() {
    slots.withdraw(number, recorded);
    Throwable first = null;
    for (Flight flight : flights.all()) {
      first = destroy(flight.end, first);
      first = destroy(flight.start, first);
    }
    try {
      stream.close();
    } catch (RuntimeException failure) {
      first = first == null ? failure : first;
    }
    try {
      tables.free();
    } catch (RuntimeException failure) {
      first = first == null ? failure : first;
    }
    if (first instanceof RuntimeException exception) {
      throw exception;
    }
  }

  private @Nullable Throwable destroy(@Nullable EventHandle event, @Nullable Throwable first) {
    if (event == null) {
      return first;
    }
    try {
      port.destroyEvent(event);
      return first;
    } catch (RuntimeException failure) {
      return first == null ? failure : first;
    }
  }
}
