package io.holdfast.internal.pin;

import io.holdfast.host.Hold;
import io.holdfast.host.HostMemory;
import io.holdfast.host.HostRegion;
import io.holdfast.host.HostRequest;
import io.holdfast.host.PlacementReceipt;
import io.holdfast.internal.tree.Standing;
import io.holdfast.layout.Bytes;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;

/** A region that is addresses only, populated as far as the test says. */
final class FakeRegion extends Standing implements HostRegion, PinnableMemory {
  /** A range that had to stay mapped. */
  record KeptRange(long offsetBytes, long bytes) {}

  private final long address;
  private final long logicalBytes;
  private final long pageBytes;
  private final @Nullable FakeRegion whole;
  private long populated;
  private @Nullable RuntimeException failure;

  final List<KeptRange> kept = new CopyOnWriteArrayList<>();
  volatile boolean unmapped;
  volatile boolean pinnedByDriver;

  private FakeRegion(
      long address,
      long logicalBytes,
      long pageBytes,
      @Nullable FakeRegion whole,
      Standing... grounds) {
    super("region at 0x" + Long.toHexString(address), grounds);
    this.address = address;
    this.logicalBytes = logicalBytes;
    this.pageBytes = pageBytes;
    this.whole = whole;
    this.populated = mappedBytes();
    enrol();
  }

  static FakeRegion of(long address, long logicalBytes, long pageBytes) {
    return new FakeRegion(address, logicalBytes, pageBytes, null);
  }

  static FakeRegion of(long address, long logicalBytes) {
    return of(address, logicalBytes, 4096);
  }

  synchronized FakeRegion populated(long bytes) {
    populated = bytes;
    notifyAll();
    return this;
  }

  synchronized void failPopulate(RuntimeException why) {
    failure = why;
    notifyAll();
  }

  @Override
  public Standing standing() {
    return this;
  }

  @Override
  @SuppressWarnings("restricted") // never read
  public MemorySegment wholePages() {
    return MemorySegment.ofAddress(address).reinterpret(mappedBytes());
  }

  @Override
  public synchronized void awaitPopulated(long bytes) {
    boolean interrupted = false;
    while (populated < bytes) {
      if (failure != null) {
        throw failure;
      }
      requireOpen();
      try {
        wait(20);
      } catch (InterruptedException _) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public Kept keepMapped(long offsetBytes, long bytes) {
    KeptRange range = new KeptRange(offsetBytes, bytes);
    kept.add(range);
    return () -> kept.remove(range);
  }

  @Override
  public boolean isPinnedByDriver() {
    return pinnedByDriver;
  }

  @Override
  public MemorySegment segment() {
    return wholePages().asSlice(0, logicalBytes);
  }

  @Override
  public long logicalBytes() {
    return logicalBytes;
  }

  @Override
  public long mappedBytes() {
    return Bytes.roundUp(logicalBytes, pageBytes);
  }

  @Override
  public long backingPageBytes() {
    return pageBytes;
  }

  @Override
  public long offsetBytes() {
    return whole == null ? 0 : address - whole.address;
  }

  @Override
  public HostRegion region() {
    return whole == null ? this : whole;
  }

  @Override
  public HostRequest request() {
    return HostRequest.ofBytes(logicalBytes);
  }

  @Override
  public PlacementReceipt receipt() {
    throw new UnsupportedOperationException("no part of this test");
  }

  @Override
  public CompletableFuture<Void> ready() {
    return CompletableFuture.completedFuture(null);
  }

  @Override
  public long populatedBytes() {
    return populated;
  }

  @Override
  public HostMemory slice(long offsetBytes, long bytes) {
    return new FakeRegion(address + offsetBytes, bytes, pageBytes, this, this);
  }

  @Override
  public Hold hold(String holder) {
    throw new UnsupportedOperationException("no part of this test");
  }

  @Override
  protected void release() {
    unmapped = true;
  }

  Optional<FakeRegion> whole() {
    return Optional.ofNullable(whole);
  }
}
