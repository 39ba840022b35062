package io.holdfast.internal.pin;

import io.holdfast.host.Hold;
import io.holdfast.host.HostMemory;
import io.holdfast.host.HostRegion;
import io.holdfast.host.HostRequest;
import io.holdfast.host.PlacementReceipt;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;

/** A region of a vendor's own page source: it has no place in our tree, only its public face. */
final class OtherRegion implements HostRegion {
  private final FakeRegion inner;

  final List<String> holders = new CopyOnWriteArrayList<>();

  OtherRegion(FakeRegion inner) {
    this.inner = inner;
  }

  @Override
  public Hold hold(String holder) {
    holders.add(holder);
    return () -> holders.remove(holder);
  }

  @Override
  public MemorySegment segment() {
    return inner.segment();
  }

  @Override
  public long logicalBytes() {
    return inner.logicalBytes();
  }

  @Override
  public long mappedBytes() {
    return inner.mappedBytes();
  }

  @Override
  public long backingPageBytes() {
    return inner.backingPageBytes();
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
  public HostRequest request() {
    return inner.request();
  }

  @Override
  public PlacementReceipt receipt() {
    return inner.receipt();
  }

  @Override
  public CompletableFuture<Void> ready() {
    return CompletableFuture.completedFuture(null);
  }

  @Override
  public long populatedBytes() {
    return inner.populatedBytes();
  }

  @Override
  public HostMemory slice(long offsetBytes, long bytes) {
    return inner.slice(offsetBytes, bytes);
  }

  @Override
  public void close() {
    if (!holders.isEmpty()) {
      throw new IllegalStateException("held by " + holders);
    }
    inner.close();
  }
}
