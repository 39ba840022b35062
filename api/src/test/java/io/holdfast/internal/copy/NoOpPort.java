package io.holdfast.internal.copy;

import io.holdfast.device.MemoryInfo;
import io.holdfast.spi.BatchCopyPort;
import io.holdfast.spi.CaptureState;
import io.holdfast.spi.CopyTable;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.DeviceRange;
import io.holdfast.spi.EventHandle;
import io.holdfast.spi.EventKind;
import io.holdfast.spi.KernelCopyPort;
import io.holdfast.spi.PitchedCopyPort;
import io.holdfast.spi.StreamHandle;
import io.holdfast.spi.StreamOrigin;
import io.holdfast.spi.Traits;
import java.lang.foreign.MemorySegment;
import java.util.Optional;

/**
 * A device that is done before it begins, and never allocates: what is measured over it is ours.
 */
class NoOpPort implements DevicePort, BatchCopyPort, KernelCopyPort, PitchedCopyPort {
  private long handles;

  /** Rows that came here. */
  long rows;

  @Override
  public Traits traits(long backingPageBytes) {
    return Traits.plain();
  }

  @Override
  public void register(MemorySegment range) {}

  @Override
  public void unregister(MemorySegment range) {}

  @Override
  public DeviceRange seenByDevice(MemorySegment range) {
    return new DeviceRange(range.address(), range.byteSize());
  }

  @Override
  public DeviceRange allocate(long bytes) {
    return new DeviceRange(1L << 40, bytes);
  }

  @Override
  public void free(DeviceRange range) {}

  @Override
  public void fill(DeviceRange range, byte value, StreamHandle stream) {}

  @Override
  public Optional<DeviceRange> rangeOf(long address) {
    return Optional.empty();
  }

  @Override
  public MemoryInfo memoryInfo() {
    return new MemoryInfo(0, 0);
  }

  @Override
  public void copyEach(CopyTable table, long from, long to, StreamHandle stream) {
    rows += to - from;
  }

  @Override
  public int maxRows() {
    return 1 << 20;
  }

  @Override
  public void copyBatch(
      CopyTable table, long from, long to, SourceReads reads, StreamHandle stream) {
    rows += to - from;
  }

  @Override
  public void copyByKernel(
      CopyTable table,
      DeviceRange columns,
      long from,
      long to,
      int threadBlocks,
      StreamHandle stream) {
    rows += to - from;
  }

  @Override
  public void copyRows(
      long destination,
      long destinationPitchBytes,
      long source,
      long sourcePitchBytes,
      long rowBytes,
      long count,
      CopyTable.Direction direction,
      StreamHandle stream) {
    rows += count;
  }

  @Override
  public long maxPitchBytes() {
    return Integer.MAX_VALUE;
  }

  @Override
  public Optional<BatchCopyPort> batchCopies() {
    return Optional.of(this);
  }

  @Override
  public Optional<KernelCopyPort> kernelCopies() {
    return Optional.of(this);
  }

  @Override
  public Optional<PitchedCopyPort> pitchedCopies() {
    return Optional.of(this);
  }

  @Override
  public StreamHandle createStream(int priority) {
    return new StreamHandle(++handles, 0);
  }

  @Override
  public StreamHandle adoptStream(long rawHandle) {
    return new StreamHandle(rawHandle, 0);
  }

  @Override
  public StreamHandle legacyDefaultStream() {
    return new StreamHandle(1, 0);
  }

  @Override
  public void destroyStream(StreamHandle stream) {}

  @Override
  public StreamOrigin originOf(StreamHandle stream) {
    return StreamOrigin.OWN_CONTEXT;
  }

  @Override
  public CaptureState captureState(StreamHandle stream) {
    return CaptureState.NONE;
  }

  @Override
  public boolean streamIdle(StreamHandle stream) {
    return true;
  }

  @Override
  public void awaitStream(StreamHandle stream) {}

  @Override
  public void streamWait(StreamHandle stream, EventHandle event) {}

  @Override
  public EventHandle createEvent(EventKind kind) {
    return new EventHandle(++handles, 0);
  }

  @Override
  public EventHandle createEventFor(StreamHandle stream, EventKind kind) {
    return createEvent(kind);
  }

  @Override
  public EventHandle adoptEvent(long rawHandle) {
    return new EventHandle(rawHandle, 0);
  }

  @Override
  public void destroyEvent(EventHandle event) {}

  @Override
  public void recordEvent(EventHandle event, StreamHandle stream) {}

  @Override
  public boolean eventPassed(EventHandle event) {
    return true;
  }

  @Override
  public void awaitEvent(EventHandle event) {}

  @Override
  public long nanosBetween(EventHandle start, EventHandle end) {
    return 0;
  }

  @Override
  public void close() {}
}
