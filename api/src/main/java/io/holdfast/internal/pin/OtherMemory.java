package io.holdfast.internal.pin;

import io.holdfast.host.Hold;
import io.holdfast.host.HostMemory;
import io.holdfast.host.HostRegion;
import io.holdfast.internal.pin.StandardPinnedRegion.Subject;
import io.holdfast.internal.tree.Standing;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.CompletionException;

/**
 * Memory of a page source that is not ours. Its regions stand in no tree, so pins hold them: such a
 * region is closed after its pins, and refuses before.
 */
final class OtherMemory extends Standing implements PinnableMemory {
  private final HostMemory memory;
  private final Hold hold;

  private OtherMemory(HostMemory memory) {
    super(memory.mappedBytes() + " bytes of another page source");
    this.memory = memory;
    this.hold = memory.region().hold("pinned memory");
  }

  /** What can be pinned, seen as ours. */
  static Subject seen(HostMemory memory) {
    if (memory instanceof PinnableMemory ours) {
      return new Subject(memory, ours, () -> {});
    }
    OtherMemory others = enrolled(new OtherMemory(memory));
    return new Subject(memory, others, others.hold::close);
  }

  @Override
  public Standing standing() {
    return this;
  }

  @Override
  protected void release() {} // nobody closes it: the hold ends with the pins

  @Override
  @SuppressWarnings("restricted") // an address with a length, for the driver only
  public MemorySegment wholePages() {
    awaitPopulated(mappedBytes()); // such memory shows no address before
    return MemorySegment.ofAddress(memory.segment().address()).reinterpret(mappedBytes());
  }

  @Override
  public void awaitPopulated(long bytes) {
    if (bytes > memory.region().populatedBytes() - offsetBytes()) {
      try {
        memory.region().ready().join();
      } catch (CompletionException failed) {
        if (failed.getCause() instanceof RuntimeException reason) {
          throw reason;
        }
        throw failed;
      }
    }
  }

  @Override
  public Kept keepMapped(long offsetBytes, long bytes) {
    Hold kept = memory.region().hold(bytes + " bytes whose unregister failed");
    return kept::close;
  }

  @Override
  public MemorySegment segment() {
    return memory.segment();
  }

  @Override
  public long logicalBytes() {
    return memory.logicalBytes();
  }

  @Override
  public long mappedBytes() {
    return memory.mappedBytes();
  }

  @Override
  public long backingPageBytes() {
    return memory.backingPageBytes();
  }

  @Override
  public long offsetBytes() {
    return memory.offsetBytes();
  }

  @Override
  public HostRegion region() {
    return memory.region();
  }
}
