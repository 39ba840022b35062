package io.holdfast.internal.host;

import io.holdfast.error.BusyException;
import io.holdfast.event.Activity;
import io.holdfast.host.Hold;
import io.holdfast.host.HostMemory;
import io.holdfast.host.HostRegion;
import io.holdfast.host.HostRequest;
import io.holdfast.host.NotPopulatedException;
import io.holdfast.host.PageKind;
import io.holdfast.host.PlacementReceipt;
import io.holdfast.internal.core.Workers;
import io.holdfast.internal.event.Journal;
import io.holdfast.internal.pin.PinnableMemory;
import io.holdfast.internal.tree.Standing;
import io.holdfast.layout.ByteRange;
import io.holdfast.layout.Bytes;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * One mapping: its views, its holds, its populating, and its way down.
 *
 * <p>Down goes: no new hold; refuse while one is out; let threads of ours leave the kernel; take
 * the views away, refused while a native call uses one; unmap, but for pages that a driver may
 * still use.
 */
class StandardRegion extends Standing implements HostRegion, PinnableMemory {
  // A slice takes a second at most, where the kernel does not compact: this is something else.
  private static final long STUCK_NANOS = Duration.ofMinutes(5).toNanos();

  private final HostRequest request;
  private final long pageBytes;
  private final RegionMemory memory;
  private final Views views;
  private final KeptPages kept;
  private final Progress progress;
  private final Workers workers;
  private final CompletableFuture<Void> ready = new CompletableFuture<>();

  private final ReentrantLock lock = new ReentrantLock();
  private final List<NamedHold> holds = new ArrayList<>();
  private boolean shut;
  private boolean released;
  private @Nullable Populator populator;
  private volatile @Nullable Journal journal;

  private volatile @Nullable PlacementReceipt receipt;
  private volatile @Nullable RuntimeException failure;

  /**
   * Takes the memory over.
   *
   * @param request what was asked
   * @param pageBytes the backing page
   * @param memory the pages
   * @param views what callers see
   * @param progress how far it is populated
   * @param workers for calls that can block
   * @param ground what it stands on
   * @throws IllegalStateException when the ground is closed; the memory is still the caller's
   */
  StandardRegion(
      HostRequest request,
      long pageBytes,
      RegionMemory memory,
      Views views,
      Progress progress,
      Workers workers,
      Standing ground) {
    this.request = request;
    this.pageBytes = pageBytes;
    this.memory = memory;
    this.views = views;
    this.kept = new KeptPages(memory);
    this.progress = progress;
    this.workers = workers;
    super(
        "host region of "
            + PageSizes.text(Bytes.roundUp(request.logicalBytes(), 1 << 10))
            + " on "
            + request.pages().describe(),
        ground);
  }

  /** Counts it, from its mapping to its end. */
  final void count(Journal in, Duration mapping) {
    journal = in;
    in.mapped(
        this,
        logicalBytes(),
        mappedBytes(),
        pageBytes,
        request.pages().getClass().getSimpleName(),
        mapping.toNanos());
  }

  /** Lets it be populated by that; begins at once unless a close is under way. */
  void populateBy(Populator by) {
    lock.lock();
    try {
      if (released) {
        return; // closed by others before it began
      }
      populator = by;
      if (shut) {
        by.pause();
      }
    } finally {
      lock.unlock();
    }
    by.start();
  }

  /** Everything is there and as it was asked. */
  void succeed(PlacementReceipt got) {
    received(got);
    completed();
  }

  /** What was asked for here is there. */
  final void received(PlacementReceipt got) {
    receipt = got;
  }

  /** Everything is there. */
  final void completed() {
    Journal in = journal;
    PlacementReceipt got = receipt;
    if (in != null && got != null) {
      in.done(Activity.READY, null, this, mappedBytes(), got.populate().toNanos());
    }
    settle(() -> ready.complete(null));
  }

  /** Not everything ever will be there. */
  final void neverCompleted(RuntimeException reason) {
    settle(() -> ready.completeExceptionally(reason));
  }

  /** It never will be usable. */
  void fail(RuntimeException reason) {
    failure = reason;
    progress.end(reason);
    neverCompleted(reason);
  }

  // What callers hang on the future runs then, and may close the region: not on a thread that the
  // close waits for.
  private void settle(Runnable completion) {
    try {
      var _ = workers.start(completion);
    } catch (RejectedExecutionException closing) {
      completion.run();
    }
  }

  /** Waits until it is ready; on failure closes it and throws the reason. */
  StandardRegion awaitReady() {
    awaitOrClose(ready);
    return this;
  }

  /** Waits for something of this region's; on failure closes the region and throws the reason. */
  final void awaitOrClose(CompletableFuture<Void> what) {
    try {
      what.join();
    } catch (CompletionException wrapped) {
      Throwable reason = Objects.requireNonNullElse(wrapped.getCause(), wrapped);
      try {
        close();
      } catch (RuntimeException second) {
        reason.addSuppressed(second);
      }
      if (reason instanceof RuntimeException exception) {
        throw exception;
      }
      throw wrapped;
    }
  }

  @Override
  public HostRequest request() {
    return request;
  }

  @Override
  public MemorySegment segment() {
    return view(0, request.logicalBytes());
  }

  MemorySegment view(long offsetBytes, long bytes) {
    requireOpen();
    requireHealthy();
    if (!progress.has(offsetBytes, bytes)) {
      throw new NotPopulatedException(offsetBytes + bytes, progress.fromStart());
    }
    MemorySegment whole = views.whole();
    return bytes == whole.byteSize() ? whole : whole.asSlice(offsetBytes, bytes);
  }

  private void requireHealthy() {
    RuntimeException reason = failure;
    if (reason != null) {
      throw reason;
    }
  }

  @Override
  public long logicalBytes() {
    return request.logicalBytes();
  }

  @Override
  public long mappedBytes() {
    return memory.pages().byteSize();
  }

  @Override
  public long backingPageBytes() {
    return pageBytes;
  }

  @Override
  public long offsetBytes() {
    return 0;
  }

  @Override
  public HostRegion region() {
    return this;
  }

  @Override
  public PlacementReceipt receipt() {
    PlacementReceipt got = receipt;
    if (got == null) {
      requireHealthy();
      throw new NotPopulatedException(request.logicalBytes(), populatedBytes());
    }
    return got;
  }

  @Override
  public CompletableFuture<Void> ready() {
    return ready.copy();
  }

  @Override
  public long populatedBytes() {
    return progress.fromStart();
  }

  @Override
  public HostMemory slice(long offsetBytes, long bytes) {
    requireOpen();
    return RegionSlice.of(this, offsetBytes, bytes);
  }

  @Override
  public Hold hold(String holder) {
    Objects.requireNonNull(holder, "holder");
    lock.lock();
    try {
      requireOpen();
      if (shut) {
        throw new IllegalStateException(name() + " is closing");
      }
      NamedHold hold = new NamedHold(holder);
      holds.add(hold);
      return hold;
    } finally {
      lock.unlock();
    }
  }

  @Override
  public Standing standing() {
    return this;
  }

  @Override
  public MemorySegment wholePages() {
    return memory.pages();
  }

  @Override
  public void awaitPopulated(long bytes) {
    awaitPopulated(0, bytes);
  }

  void awaitPopulated(long offsetBytes, long bytes) {
    Objects.checkFromIndexSize(offsetBytes, bytes, mappedBytes());
    progress.await(offsetBytes, bytes);
    if (!memory.pages().scope().isAlive()) {
      throw new IllegalStateException("the owner of " + name() + " has taken its memory back");
    }
  }

  @Override
  public boolean isPinnedByDriver() {
    return request().pages() instanceof PageKind.Driver;
  }

  @Override
  public Kept keepMapped(long offsetBytes, long bytes) {
    Objects.checkFromIndexSize(offsetBytes, bytes, mappedBytes());
    if (offsetBytes % pageBytes != 0 || bytes % pageBytes != 0) {
      throw new IllegalArgumentException(
          bytes + " bytes at " + offsetBytes + " are not whole pages of " + pageBytes);
    }
    return kept.keep(new ByteRange(offsetBytes, bytes));
  }

  @Override
  protected void shut() {
    lock.lock();
    try {
      shut = true;
    } finally {
      lock.unlock();
    }
  }

  @Override
  protected void reopen() {
    views.renew();
    Populator running;
    lock.lock();
    try {
      shut = false;
      running = populator;
    } finally {
      lock.unlock();
    }
    if (running != null) {
      running.resume();
    }
  }

  @Override
  protected void refuse(List<String> holders) {
    lock.lock();
    try {
      holds.forEach(hold -> holders.add("hold '" + hold.holder + "' on " + name()));
    } finally {
      lock.unlock();
    }
  }

  @Override
  protected void quiesce() {
    Populator running = running();
    if (running != null) {
      running.pause();
      if (!running.awaitIdle(STUCK_NANOS)) {
        throw new BusyException(
            "closing " + name(), List.of("a populate call that the kernel does not end"));
      }
    }
  }

  private @Nullable Populator running() {
    lock.lock();
    try {
      return populator;
    } finally {
      lock.unlock();
    }
  }

  @Override
  protected void detach() {
    try {
      views.takeAway();
    } catch (IllegalStateException acquired) {
      BusyException busy =
          new BusyException(
              "closing " + name(), List.of("a native call of the caller's on a view of it"));
      busy.addSuppressed(acquired);
      throw busy;
    }
  }

  @Override
  protected void release() {
    lock.lock();
    try {
      released = true;
      if (populator != null) {
        populator.cancel();
      }
    } finally {
      lock.unlock();
    }
    IllegalStateException closed = new IllegalStateException(name() + " is closed");
    Journal in = journal;
    Object told = in == null ? null : in.begin(Activity.UNMAP);
    long begun = System.nanoTime();
    try {
      workers.run(kept::release); // unmapping takes a second for each some 30 GiB of base pages
    } finally {
      if (in != null) {
        in.done(Activity.UNMAP, told, this, mappedBytes(), System.nanoTime() - begun);
        in.done(Activity.CLOSE, null, this, 0, 0);
      }
      progress.end(closed);
      ready.completeExceptionally(closed);
    }
  }

  /** A reason to stay. */
  private final class NamedHold implements Hold {
    private final String holder;

    NamedHold(String holder) {
      this.holder = holder;
    }

    @Override
    public void close() {
      lock.lock();
      try {
        holds.removeIf(hold -> hold == this);
      } finally {
        lock.unlock();
      }
    }
  }
}
