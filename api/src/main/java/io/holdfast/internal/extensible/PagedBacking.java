package io.holdfast.internal.extensible;

import io.holdfast.device.AddressesMovedException;
import io.holdfast.device.Demand;
import io.holdfast.device.ExtensibleRegion.Contents;
import io.holdfast.device.Support;
import io.holdfast.error.DriverException;
import io.holdfast.error.DriverFault;
import io.holdfast.error.UnsupportedException;
import io.holdfast.spi.DeviceRange;
import io.holdfast.spi.PhysicalHandle;
import io.holdfast.spi.VirtualMemoryPort.RdmaWish;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Physical memory under prefixes of reserved addresses.
 *
 * <p>Every change is one {@link #swap}: take what is new, rehearse what is to be kept, exchange,
 * zero; and whatever fails before the end, put everything back. Old allocations are let go only
 * after that, so a change that is refused has lost nothing.
 */
final class PagedBacking implements Backing {
  private final VirtualMemory vmm;
  private final ChangeStream stream;
  private final SegmentPlan plan;
  private final FormChoice form;
  private final List<SegmentPages> segments;
  private final Debts debts = new Debts();
  private Support rdmaCapable;
  private @Nullable String rdmaNote;

  private PagedBacking(
      VirtualMemory vmm,
      ChangeStream stream,
      SegmentPlan plan,
      FormChoice form,
      List<SegmentPages> segments) {
    this.vmm = vmm;
    this.stream = stream;
    this.plan = plan;
    this.form = form;
    this.segments = segments;
    this.rdmaCapable = form.rdmaCapable();
  }

  /** Takes addresses for the capacity, each segment's on its own so that each can be given up. */
  static PagedBacking reserve(
      VirtualMemory vmm, ChangeStream stream, SegmentPlan plan, FormChoice form) {
    List<SegmentPages> segments = new ArrayList<>();
    try {
      for (int segment = 0; segment < plan.segments().size(); segment++) {
        DeviceRange range = vmm.reserve(plan.reservedBytes(segment), plan.granuleBytes());
        if (range.address() == 0) {
          throw new UnsupportedException(
              "reserving device addresses",
              "the driver says it did and names none",
              "Use a newer driver, or let the request prefer virtual memory");
        }
        segments.add(new SegmentPages(segment, range));
      }
    } catch (RuntimeException | Error failure) {
      for (SegmentPages segment : segments.reversed()) {
        try {
          vmm.freeAddresses(segment.addresses);
        } catch (RuntimeException worse) {
          failure.addSuppressed(worse);
        }
      }
      throw failure;
    }
    return new PagedBacking(vmm, stream, plan, form, List.copyOf(segments));
  }

  // ---- changes

  @Override
  public Outcome grow(long from, long to) {
    List<Step> steps = new ArrayList<>();
    for (SegmentPages segment : segments) {
      steps.add(growth(segment, from, to));
    }
    return settledThen(() -> run(steps));
  }

  private Step growth(SegmentPages segment, long from, long to) {
    long mapped = segment.mappedBytes();
    long fresh = Math.max(0, plan.physicalBytes(segment.index, to) - mapped);
    // From the old blocks' end, not from the new pages' start: the rest of the last granule is new.
    return new Step(segment, segment.chunks, List.of(), fresh, 0, bytes(segment, from));
  }

  @Override
  public Outcome shrink(long from, long to) {
    List<Step> steps = new ArrayList<>();
    for (SegmentPages segment : segments) {
      long need = plan.physicalBytes(segment.index, to);
      List<Chunk> keep = new ArrayList<>();
      List<Chunk> drop = new ArrayList<>();
      for (Chunk chunk : segment.chunks) {
        (chunk.endBytes() <= need ? keep : drop).add(chunk);
      }
      if (vmm.memoryReturnsWithAddresses() && !drop.isEmpty()) {
        drop.addAll(0, keep); // addresses go as a whole
        keep.clear();
      }
      long kept = keep.isEmpty() ? 0 : keep.getLast().endBytes();
      steps.add(new Step(segment, keep, drop, need - kept, 0, 0));
    }
    return settledThen(() -> discarding(steps));
  }

  @Override
  public boolean isConsolidated(long blocks) {
    for (SegmentPages segment : segments) {
      if (!isConsolidated(segment, blocks)) {
        return false;
      }
    }
    return true;
  }

  private boolean isConsolidated(SegmentPages segment, long blocks) {
    return segment.chunks.size() == 1
        && segment.mappedBytes() >= plan.physicalBytes(segment.index, blocks);
  }

  @Override
  public Outcome consolidate(long from, long to, Contents contents) {
    List<Step> steps = new ArrayList<>();
    for (SegmentPages segment : segments) {
      long old = contents == Contents.KEEP ? bytes(segment, from) : 0;
      if (isConsolidated(segment, to)) {
        steps.add(new Step(segment, segment.chunks, List.of(), 0, 0, old));
      } else {
        long need = plan.physicalBytes(segment.index, to);
        long copied = segment.chunks.isEmpty() ? 0 : old;
        steps.add(new Step(segment, List.of(), segment.chunks, need, copied, old));
      }
    }
    return settledThen(() -> contents == Contents.KEEP ? keeping(steps) : discarding(steps));
  }

  @Override
  public Outcome release() {
    List<Step> steps = new ArrayList<>();
    for (SegmentPages segment : segments) {
      steps.add(new Step(segment, List.of(), segment.chunks, 0, 0, 0));
    }
    return settledThen(() -> run(steps));
  }

  @Override
  public Outcome wake(long blocks) {
    return settledThen(
        () -> {
          for (SegmentPages segment : segments) {
            if (!segment.held) {
              try {
                reserveAgain(segment);
              } catch (AddressesMovedException moved) {
                return new Outcome.Refused(moved);
              }
            }
          }
          List<Step> steps = new ArrayList<>();
          for (SegmentPages segment : segments) {
            steps.add(growth(segment, 0, blocks));
          }
          return run(steps);
        });
  }

  @Override
  public void requireReleasable() {}

  private long bytes(SegmentPages segment, long blocks) {
    return plan.segments().get(segment.index).bytes(blocks);
  }

  /** Offers again what is owed; what still is stands in a change's way only by chance. */
  private Outcome settledThen(Supplier<Outcome> change) {
    debts.settle();
    return change.get();
  }

  /** New beside old, all at once; where that is too much, one segment after the other. */
  private Outcome keeping(List<Step> steps) {
    Outcome together = run(steps);
    if (!ranOutOfMemory(together) || steps.stream().allMatch(step -> step.drop.isEmpty())) {
      return together;
    }
    List<Step> growing = new ArrayList<>();
    boolean exchanged = false;
    for (Step step : steps) {
      if (step.drop.isEmpty()) {
        growing.add(step);
        continue;
      }
      Outcome alone = run(List.of(step));
      if (alone instanceof Outcome.Refused(Throwable why) && exchanged) {
        return new Outcome.Exchanged(why);
      }
      if (!(alone instanceof Outcome.Done)) {
        return alone;
      }
      exchanged = true;
    }
    Outcome rest = run(growing);
    return exchanged && rest instanceof Outcome.Refused(Throwable why)
        ? new Outcome.Exchanged(why)
        : rest;
  }

  /** New beside old; where that is too much, the old goes first. */
  private Outcome discarding(List<Step> steps) {
    Outcome beside = run(steps);
    if (!ranOutOfMemory(beside) || steps.stream().allMatch(step -> step.drop.isEmpty())) {
      return beside;
    }
    List<Long> oldBytes = segments.stream().map(SegmentPages::mappedBytes).toList();
    Outcome gone = run(steps.stream().map(Step::dropOnly).toList());
    if (!(gone instanceof Outcome.Done)) {
      return gone;
    }
    Outcome fresh = run(steps.stream().map(Step::freshOnly).toList());
    if (!(fresh instanceof Outcome.Refused(Throwable why))) {
      return fresh;
    }
    List<Step> rebuild = new ArrayList<>();
    for (Step step : steps) {
      SegmentPages segment = step.segment;
      long missing = oldBytes.get(segment.index) - segment.mappedBytes();
      rebuild.add(new Step(segment, segment.chunks, List.of(), missing, 0, 0));
    }
    Outcome rebuilt = run(rebuild);
    if (rebuilt instanceof Outcome.Done) {
      return new Outcome.Exchanged(why);
    }
    abandon(List.of());
    returnMemory();
    return new Outcome.Lost(why);
  }

  private static boolean ranOutOfMemory(Outcome outcome) {
    return outcome instanceof Outcome.Refused(DriverException answer)
        && answer.fault() == DriverFault.OUT_OF_MEMORY;
  }

  private Outcome run(List<Step> steps) {
    try {
      return swap(steps);
    } catch (RuntimeException | Error failure) {
      return new Outcome.Refused(failure);
    }
  }

  // ---- the one transaction

  private Outcome swap(List<Step> steps) {
    try {
      for (Step step : steps) {
        step.begin();
        if (step.freshBytes > 0) {
          PhysicalHandle handle = vmm.create(step.freshBytes, form.form());
          step.fresh = new Chunk(step.keptBytes(), step.freshBytes, handle);
        }
      }
      for (Step step : steps) {
        rehearse(step);
      }
      for (Step step : steps) {
        step.entered = true;
        exchange(step);
      }
      for (Step step : steps) {
        long end = step.endBytes();
        if (step.zeroFromBytes < end) {
          stream.zero(step.segment.range(step.zeroFromBytes, end));
        }
      }
      stream.await();
    } catch (RuntimeException | Error failure) {
      if (undo(steps, failure)) {
        throw failure;
      }
      abandon(steps);
      returnMemory();
      return new Outcome.Lost(failure);
    }
    for (Step step : steps) {
      step.segment.chunks = step.after();
      for (Chunk chunk : step.drop) {
        debts.settleOrOwe(name(step.segment, chunk), chunk.bytes, () -> vmm.release(chunk.handle));
      }
    }
    return new Outcome.Done();
  }

  /** Fills the new allocation at addresses of its own, while the old one is in its place. */
  private void rehearse(Step step) {
    Chunk fresh = step.fresh;
    if (fresh == null || step.copyBytes == 0) {
      return;
    }
    DeviceRange scratch = vmm.reserve(fresh.bytes, plan.granuleBytes());
    Runnable free = () -> vmm.freeAddresses(scratch);
    try {
      vmm.map(scratch, fresh.handle);
    } catch (RuntimeException | Error refused) {
      suppress(refused, debts.settleOrOwe("scratch addresses", 0, free));
      throw refused;
    }
    Throwable failure = null;
    try {
      vmm.allowAccess(scratch);
      DeviceRange old = step.segment.range(0, step.copyBytes);
      stream.copy(old, new DeviceRange(scratch.address(), old.bytes()));
    } catch (RuntimeException | Error refused) {
      failure = refused;
      stream.awaitQuietly(refused); // the copy may be on its way
    }
    try {
      vmm.unmap(scratch);
    } catch (RuntimeException refused) {
      step.fresh = null; // not released before this mapping is gone
      debts.settleOrOwe(
          name(step.segment, fresh),
          fresh.bytes,
          () -> vmm.unmap(scratch),
          () -> vmm.release(fresh.handle),
          free);
      if (failure == null) {
        throw refused;
      }
      failure.addSuppressed(refused);
      rethrow(failure);
    }
    debts.settleOrOwe("scratch addresses", 0, free);
    if (failure != null) {
      rethrow(failure);
    }
  }

  private void exchange(Step step) {
    SegmentPages segment = step.segment;
    for (Chunk chunk : step.drop.reversed()) {
      unmap(segment, chunk);
    }
    if (segment.retainedBytes > 0 && step.keep.isEmpty()) {
      returnMemory(segment);
    }
    Chunk fresh = step.fresh;
    if (fresh != null) {
      vmm.map(segment.range(fresh), fresh.handle);
      fresh.mapped = true;
      allow(segment, fresh);
      verify(segment, fresh);
    }
  }

  private void unmap(SegmentPages segment, Chunk chunk) {
    vmm.unmap(segment.range(chunk));
    chunk.mapped = false;
    if (vmm.memoryReturnsWithAddresses()) {
      segment.retainedBytes += chunk.bytes;
    }
  }

  /** Nothing is mapped: where memory returns with its addresses only, these go and come back. */
  private void returnMemory(SegmentPages segment) {
    vmm.freeAddresses(segment.addresses);
    segment.held = false;
    segment.retainedBytes = 0;
    reserveAgain(segment);
  }

  private void allow(SegmentPages segment, Chunk chunk) {
    vmm.allowAccess(
        vmm.accessIsForWholePrefix() ? segment.range(0, chunk.endBytes()) : segment.range(chunk));
  }

  /** What was asked for at creation is a wish until the driver says so of the memory. */
  private void verify(SegmentPages segment, Chunk fresh) {
    if (form.form().rdma() != RdmaWish.YES
        || rdmaCapable instanceof Support.Unsupported
        || vmm.rdmaCapable(segment.range(fresh))) {
      return;
    }
    String reason = "the driver denies it of memory that was created for it";
    if (form.rdma() == Demand.REQUIRE) {
      throw new UnsupportedException("reading by network cards", reason, FormChoice.RDMA_REMEDY);
    }
    rdmaCapable = new Support.Unsupported(reason, FormChoice.RDMA_REMEDY);
    rdmaNote = "no network card can read this memory: " + reason;
  }

  private void reserveAgain(SegmentPages segment) {
    DeviceRange wanted = segment.addresses;
    DeviceRange given;
    try {
      given = vmm.reserveAt(wanted);
    } catch (DriverException refused) {
      AddressesMovedException moved =
          new AddressesMovedException(wanted.bytes(), wanted.address(), 0);
      moved.addSuppressed(refused);
      throw moved;
    }
    if (given.address() != wanted.address()) {
      debts.settleOrOwe("addresses elsewhere", 0, () -> vmm.freeAddresses(given));
      throw new AddressesMovedException(wanted.bytes(), wanted.address(), given.address());
    }
    segment.held = true;
  }

  // ---- when it fails

  /** Puts everything back, newest first; false when that failed, too. */
  private boolean undo(List<Step> steps, Throwable failure) {
    stream.awaitQuietly(failure); // zeros may be on their way
    boolean restored = true;
    for (Step step : steps.reversed()) {
      if (step.entered) {
        restored &= restore(step, failure);
      }
    }
    for (Step step : steps.reversed()) {
      Chunk fresh = step.fresh;
      if (fresh != null && !fresh.mapped) {
        step.fresh = null;
        suppress(
            failure,
            debts.settleOrOwe(
                name(step.segment, fresh), fresh.bytes, () -> vmm.release(fresh.handle)));
      }
    }
    return restored;
  }

  private boolean restore(Step step, Throwable failure) {
    SegmentPages segment = step.segment;
    Chunk fresh = step.fresh;
    if (fresh != null && fresh.mapped && step.drop.isEmpty()) {
      step.fresh = null; // behind what is kept: in the way of nothing but the next growth
      suppress(
          failure,
          debts.settleOrOwe(
              name(segment, fresh),
              fresh.bytes,
              () -> unmap(segment, fresh),
              () -> vmm.release(fresh.handle)));
      return true;
    }
    try {
      if (fresh != null && fresh.mapped) {
        unmap(segment, fresh);
      }
      if (!segment.held) {
        reserveAgain(segment);
      }
      for (Chunk chunk : step.drop) {
        if (!chunk.mapped) {
          vmm.map(segment.range(chunk), chunk.handle);
          chunk.mapped = true;
          segment.retainedBytes = Math.max(0, segment.retainedBytes - chunk.bytes);
          allow(segment, chunk);
        }
      }
      return true;
    } catch (RuntimeException worse) {
      failure.addSuppressed(worse);
      return false;
    }
  }

  /** Gives up all physical memory: a part of it is no use without the rest. */
  private void abandon(List<Step> steps) {
    for (Step step : steps) {
      Chunk fresh = step.fresh;
      if (fresh != null) {
        step.fresh = null;
        giveBack(step.segment, fresh);
      }
    }
    for (SegmentPages segment : segments) {
      segment.chunks.forEach(chunk -> giveBack(segment, chunk));
      segment.chunks = List.of();
    }
  }

  /** After {@link #abandon}. */
  private void returnMemory() {
    for (SegmentPages segment : segments) {
      if (segment.held && segment.retainedBytes > 0 && !debts.any()) {
        try {
          returnMemory(segment);
        } catch (RuntimeException refused) {
          // The pages are lost and the caller learns why; waking asks for the addresses once more.
        }
      }
    }
  }

  private @Nullable RuntimeException giveBack(SegmentPages segment, Chunk chunk) {
    Runnable release = () -> vmm.release(chunk.handle);
    if (!chunk.mapped) {
      return debts.settleOrOwe(name(segment, chunk), chunk.bytes, release);
    }
    return debts.settleOrOwe(
        name(segment, chunk), chunk.bytes, () -> unmap(segment, chunk), release);
  }

  private static String name(SegmentPages segment, Chunk chunk) {
    return chunk.bytes + " bytes of segment " + segment.index;
  }

  private static void suppress(Throwable failure, @Nullable RuntimeException worse) {
    if (worse != null) {
      failure.addSuppressed(worse);
    }
  }

  private static void rethrow(Throwable failure) {
    if (failure instanceof Error error) {
      throw error;
    }
    throw (RuntimeException) failure;
  }

  @Override
  public void close() {
    RuntimeException first = debts.settle();
    abandon(List.of());
    if (!debts.any()) {
      for (SegmentPages segment : segments) {
        if (segment.held) {
          segment.held = false;
          debts.settleOrOwe("addresses", 0, () -> vmm.freeAddresses(segment.addresses));
        }
      }
    }
    RuntimeException left = debts.settle(); // once more: what stood in the way may be gone
    if (left != null) {
      suppress(left, first);
      throw left;
    }
  }

  // ---- answers

  @Override
  public long address(int segment) {
    return segments.get(segment).addresses.address();
  }

  @Override
  public List<Integer> handlesPerSegment() {
    return segments.stream().map(segment -> segment.chunks.size()).toList();
  }

  /** The one allocation of a segment. */
  Chunk only(int segment) {
    return segments.get(segment).chunks.getFirst();
  }

  FormChoice form() {
    return form;
  }

  VirtualMemory vmm() {
    return vmm;
  }

  @Override
  public long physicalBytes() {
    long bytes = 0;
    for (SegmentPages segment : segments) {
      bytes += segment.mappedBytes();
    }
    return bytes;
  }

  @Override
  public long owedBytes() {
    long bytes = debts.physicalBytes();
    for (SegmentPages segment : segments) {
      bytes += segment.retainedBytes;
    }
    return bytes;
  }

  @Override
  public boolean isForOthers() {
    return !form.form().exports().isEmpty() || form.form().rdma() == RdmaWish.YES;
  }

  @Override
  public Support rdmaCapable() {
    return rdmaCapable;
  }

  @Override
  public List<String> notes() {
    List<String> notes = new ArrayList<>(form.notes());
    if (rdmaNote != null) {
      notes.add(rdmaNote);
    }
    notes.addAll(debts.notes());
    for (SegmentPages segment : segments) {
      if (segment.retainedBytes > 0) {
        notes.add(
            segment.retainedBytes
                + " bytes stay with the addresses of segment "
                + segment.index
                + " until the region sleeps");
      }
    }
    return notes;
  }

  /** What happens to one segment. */
  private static final class Step {
    final SegmentPages segment;
    final List<Chunk> keep;
    final List<Chunk> drop;
    final long freshBytes;
    final long copyBytes;
    final long zeroFromBytes;
    @Nullable Chunk fresh;
    boolean entered;

    Step(
        SegmentPages segment,
        List<Chunk> keep,
        List<Chunk> drop,
        long freshBytes,
        long copyBytes,
        long zeroFromBytes) {
      this.segment = segment;
      this.keep = List.copyOf(keep);
      this.drop = List.copyOf(drop);
      this.freshBytes = freshBytes;
      this.copyBytes = copyBytes;
      this.zeroFromBytes = zeroFromBytes;
    }

    /** A step can be tried again. */
    void begin() {
      fresh = null;
      entered = false;
    }

    Step dropOnly() {
      return new Step(segment, keep, drop, 0, 0, Long.MAX_VALUE);
    }

    Step freshOnly() {
      return new Step(segment, keep, List.of(), freshBytes, 0, zeroFromBytes);
    }

    long keptBytes() {
      return keep.isEmpty() ? 0 : keep.getLast().endBytes();
    }

    long endBytes() {
      return keptBytes() + freshBytes;
    }

    List<Chunk> after() {
      if (fresh == null) {
        return keep;
      }
      List<Chunk> after = new ArrayList<>(keep);
      after.add(fresh);
      return List.copyOf(after);
    }
  }
}
