package io.holdfast.internal.copy;

import io.holdfast.host.HostMemory;
import io.holdfast.host.HostRegion;
import io.holdfast.internal.core.CoreDevice;
import io.holdfast.internal.pin.HostAddresses;
import io.holdfast.internal.pin.PinnedMemory;
import io.holdfast.internal.slots.HostSlots;
import io.holdfast.internal.tree.Standing;
import io.holdfast.layout.BlockLayout;
import io.holdfast.pin.HostBlocks;
import io.holdfast.pin.PinReceipt;
import io.holdfast.pin.PinnedRange;
import io.holdfast.pin.RegistrationPlan;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.NavigableSet;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;

/** Native memory with cuts where the test wants them, and a watermark it can move. */
final class FakePinned extends Standing implements PinnedMemory {
  private final Arena arena = Arena.ofShared();
  private final MemorySegment segment;
  private final NavigableSet<Long> ends = new TreeSet<>();
  private final long alias;
  private volatile long watermark;

  /** Pinned wholly, cut at these offsets, as the fake port's registrations. */
  FakePinned(CoreDevice device, FakePort port, long bytes, long... cuts) {
    this(device, List.of(port), FakePort.ALIAS, bytes, cuts);
  }

  /** Pinned for several ports, or for none. */
  FakePinned(CoreDevice device, List<FakePort> ports, long alias, long bytes, long... cuts) {
    super("pinned memory of " + bytes + " bytes", device.standing());
    segment = arena.allocate(bytes, 64);
    this.alias = alias;
    watermark = bytes;
    for (long cut : cuts) {
      ends.add(cut);
    }
    ends.add(bytes);
    long from = 0;
    for (long end : ends) {
      for (FakePort port : ports) {
        port.registered(segment.address() + from, end - from);
      }
      from = end;
    }
    enrol();
  }

  MemorySegment segment() {
    return segment;
  }

  void watermark(long bytes) {
    watermark = bytes;
  }

  @Override
  public Standing standing() {
    return this;
  }

  @Override
  public HostAddresses addressesOn(CoreDevice device) {
    long first = segment.address() + alias;
    long[] sorted = ends.stream().mapToLong(Long::longValue).toArray();
    return new HostAddresses() {
      @Override
      public int rangeOf(long offsetBytes) {
        int range = 0;
        while (sorted[range] <= offsetBytes) {
          range++;
        }
        return range;
      }

      @Override
      public long endOf(int range) {
        return sorted[range];
      }

      @Override
      public long shiftOf(int range) {
        return first;
      }
    };
  }

  @Override
  public void awaitWatermark(long bytes) {
    while (watermark < bytes) {
      Thread.onSpinWait();
    }
  }

  @Override
  public long watermarkBytes() {
    return watermark;
  }

  @Override
  public HostBlocks blocks(BlockLayout layout) {
    return HostSlots.of(this, layout);
  }

  @Override
  public HostMemory memory() {
    return new HostMemory() {
      @Override
      public MemorySegment segment() {
        return segment;
      }

      @Override
      public long logicalBytes() {
        return segment.byteSize();
      }

      @Override
      public long mappedBytes() {
        return segment.byteSize();
      }

      @Override
      public long backingPageBytes() {
        return 1;
      }

      @Override
      public long offsetBytes() {
        return 0;
      }

      @Override
      public HostRegion region() {
        throw new UnsupportedOperationException("copies need no region");
      }
    };
  }

  @Override
  public RegistrationPlan plan() {
    throw new UnsupportedOperationException("copies need no plan");
  }

  @Override
  public long registeredBytes() {
    return segment.byteSize();
  }

  @Override
  public CompletableFuture<Void> ready() {
    return CompletableFuture.completedFuture(null);
  }

  @Override
  public List<PinnedRange> ranges() {
    return List.of();
  }

  @Override
  public PinReceipt receipt() {
    throw new UnsupportedOperationException("copies need no receipt");
  }

  @Override
  public void pause() {}

  @Override
  public void resume() {}

  @Override
  public void cancel() {}

  @Override
  public void closeFlatOut() {
    close();
  }

  @Override
  protected void release() {
    arena.close();
  }
}
