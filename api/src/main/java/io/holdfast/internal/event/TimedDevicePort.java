package io.holdfast.internal.event;

import io.holdfast.device.HandleKind;
import io.holdfast.device.MemoryInfo;
import io.holdfast.spi.BatchCopyPort;
import io.holdfast.spi.CaptureState;
import io.holdfast.spi.CopyTable;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.DeviceRange;
import io.holdfast.spi.EventHandle;
import io.holdfast.spi.EventKind;
import io.holdfast.spi.HostAllocationPort;
import io.holdfast.spi.KernelCopyPort;
import io.holdfast.spi.PhysicalHandle;
import io.holdfast.spi.PitchedCopyPort;
import io.holdfast.spi.StreamHandle;
import io.holdfast.spi.StreamOrigin;
import io.holdfast.spi.Traits;
import io.holdfast.spi.VirtualMemoryPort;
import java.lang.foreign.MemorySegment;
import java.util.Optional;
import java.util.Set;

/**
 * A device port whose calls that can block are timed, and which has what the port has at that time.
 * Calls that only look or enqueue are passed on as they are, for they come many to a batch.
 */
public final class TimedDevicePort implements DevicePort {
  private final DevicePort port;
  private final Journal journal;
  private final Optional<BatchCopyPort> batch;
  private final Optional<KernelCopyPort> kernel;
  private final Optional<PitchedCopyPort> pitched;
  private final Optional<HostAllocationPort> host;
  private final Optional<VirtualMemoryPort> virtual;

  /**
   * Takes over the port.
   *
   * @param port whose calls are made
   * @param journal hears of those that take long
   */
  public TimedDevicePort(DevicePort port, Journal journal) {
    this.port = port;
    this.journal = journal;
    this.batch = port.batchCopies().map(one -> new Batch(one, journal));
    this.kernel = port.kernelCopies().map(one -> new Kernel(one, journal));
    this.pitched = port.pitchedCopies().map(one -> new Pitched(one, journal));
    this.host = port.hostAllocations().map(one -> new Host(one, journal));
    this.virtual = port.virtualMemory().map(one -> new Virtual(one, journal));
  }

  @Override
  public Traits traits(long backingPageBytes) {
    return port.traits(backingPageBytes);
  }

  @Override
  public void register(MemorySegment range) {
    long begun = System.nanoTime();
    try {
      port.register(range);
    } finally {
      journal.called("register", begun);
    }
  }

  @Override
  public void unregister(MemorySegment range) {
    long begun = System.nanoTime();
    try {
      port.unregister(range);
    } finally {
      journal.called("unregister", begun);
    }
  }

  @Override
  public DeviceRange seenByDevice(MemorySegment range) {
    long begun = System.nanoTime();
    try {
      return port.seenByDevice(range);
    } finally {
      journal.called("seenByDevice", begun);
    }
  }

  @Override
  public DeviceRange allocate(long bytes) {
    long begun = System.nanoTime();
    try {
      return port.allocate(bytes);
    } finally {
      journal.called("allocate", begun);
    }
  }

  @Override
  public void free(DeviceRange range) {
    long begun = System.nanoTime();
    try {
      port.free(range);
    } finally {
      journal.called("free", begun);
    }
  }

  @Override
  public void fill(DeviceRange range, byte value, StreamHandle stream) {
    long begun = System.nanoTime();
    try {
      port.fill(range, value, stream);
    } finally {
      journal.called("fill", begun);
    }
  }

  @Override
  public Optional<DeviceRange> rangeOf(long address) {
    return port.rangeOf(address);
  }

  @Override
  public MemoryInfo memoryInfo() {
    long begun = System.nanoTime();
    try {
      return port.memoryInfo();
    } finally {
      journal.called("memoryInfo", begun);
    }
  }

  @Override
  public void copyEach(CopyTable table, long from, long to, StreamHandle stream) {
    long begun = System.nanoTime();
    try {
      port.copyEach(table, from, to, stream);
    } finally {
      journal.called("copyEach", begun);
    }
  }

  @Override
  public StreamHandle createStream(int priority) {
    long begun = System.nanoTime();
    try {
      return port.createStream(priority);
    } finally {
      journal.called("createStream", begun);
    }
  }

  @Override
  public StreamHandle adoptStream(long rawHandle) {
    return port.adoptStream(rawHandle);
  }

  @Override
  public StreamHandle legacyDefaultStream() {
    return port.legacyDefaultStream();
  }

  @Override
  public void destroyStream(StreamHandle stream) {
    long begun = System.nanoTime();
    try {
      port.destroyStream(stream);
    } finally {
      journal.called("destroyStream", begun);
    }
  }

  @Override
  public StreamOrigin originOf(StreamHandle stream) {
    return port.originOf(stream);
  }

  @Override
  public CaptureState captureState(StreamHandle stream) {
    return port.captureState(stream);
  }

  @Override
  public boolean streamIdle(StreamHandle stream) {
    return port.streamIdle(stream);
  }

  @Override
  public void awaitStream(StreamHandle stream) {
    long begun = System.nanoTime();
    try {
      port.awaitStream(stream);
    } finally {
      journal.called("awaitStream", begun);
    }
  }

  @Override
  public void streamWait(StreamHandle stream, EventHandle event) {
    port.streamWait(stream, event);
  }

  @Override
  public EventHandle createEvent(EventKind kind) {
    return port.createEvent(kind);
  }

  @Override
  public EventHandle createEventFor(StreamHandle stream, EventKind kind) {
    return port.createEventFor(stream, kind);
  }

  @Override
  public EventHandle adoptEvent(long rawHandle) {
    return port.adoptEvent(rawHandle);
  }

  @Override
  public void destroyEvent(EventHandle event) {
    port.destroyEvent(event);
  }

  @Override
  public void recordEvent(EventHandle event, StreamHandle stream) {
    port.recordEvent(event, stream);
  }

  @Override
  public boolean eventPassed(EventHandle event) {
    return port.eventPassed(event);
  }

  @Override
  public void awaitEvent(EventHandle event) {
    long begun = System.nanoTime();
    try {
      port.awaitEvent(event);
    } finally {
      journal.called("awaitEvent", begun);
    }
  }

  @Override
  public long nanosBetween(EventHandle start, EventHandle end) {
    return port.nanosBetween(start, end);
  }

  @Override
  public Optional<String> kernelAbsence() {
    return port.kernelAbsence();
  }

  @Override
  public void close() {
    long begun = System.nanoTime();
    try {
      port.close();
    } finally {
      journal.called("close", begun);
    }
  }

  @Override
  public Optional<BatchCopyPort> batchCopies() {
    return port.batchCopies().isPresent() ? batch : Optional.empty();
  }

  @Override
  public Optional<KernelCopyPort> kernelCopies() {
    return port.kernelCopies().isPresent() ? kernel : Optional.empty();
  }

  @Override
  public Optional<PitchedCopyPort> pitchedCopies() {
    return port.pitchedCopies().isPresent() ? pitched : Optional.empty();
  }

  @Override
  public Optional<HostAllocationPort> hostAllocations() {
    return port.hostAllocations().isPresent() ? host : Optional.empty();
  }

  @Override
  public Optional<VirtualMemoryPort> virtualMemory() {
    return port.virtualMemory().isPresent() ? virtual : Optional.empty();
  }

  @Override
  public String toString() {
    return port.toString();
  }

  private record Batch(BatchCopyPort port, Journal journal) implements BatchCopyPort {

    @Override
    public int maxRows() {
      return port.maxRows();
    }

    @Override
    public void copyBatch(
        CopyTable table, long from, long to, SourceReads reads, StreamHandle stream) {
      long begun = System.nanoTime();
      try {
        port.copyBatch(table, from, to, reads, stream);
      } finally {
        journal.called("copyBatch", begun);
      }
    }
  }

  private record Kernel(KernelCopyPort port, Journal journal) implements KernelCopyPort {

    @Override
    public void copyByKernel(
        CopyTable table,
        DeviceRange columns,
        long from,
        long to,
        int threadBlocks,
        StreamHandle stream) {
      long begun = System.nanoTime();
      try {
        port.copyByKernel(table, columns, from, to, threadBlocks, stream);
      } finally {
        journal.called("copyByKernel", begun);
      }
    }
  }

  private record Pitched(PitchedCopyPort port, Journal journal) implements PitchedCopyPort {

    @Override
    public void copyRows(
        long destination,
        long destinationPitchBytes,
        long source,
        long sourcePitchBytes,
        long rowBytes,
        long rows,
        CopyTable.Direction direction,
        StreamHandle stream) {
      port.copyRows(
          destination,
          destinationPitchBytes,
          source,
          sourcePitchBytes,
          rowBytes,
          rows,
          direction,
          stream);
    }

    @Override
    public long maxPitchBytes() {
      return port.maxPitchBytes();
    }
  }

  private record Host(HostAllocationPort port, Journal journal) implements HostAllocationPort {

    @Override
    public MemorySegment allocate(long bytes, Caching caching) {
      long begun = System.nanoTime();
      try {
        return port.allocate(bytes, caching);
      } finally {
        journal.called("host allocate", begun);
      }
    }

    @Override
    public void free(MemorySegment memory) {
      long begun = System.nanoTime();
      try {
        port.free(memory);
      } finally {
        journal.called("host free", begun);
      }
    }
  }

  private record Virtual(VirtualMemoryPort port, Journal journal) implements VirtualMemoryPort {

    @Override
    public long granuleBytes(PhysicalForm form) {
      return port.granuleBytes(form);
    }

    @Override
    public Set<HandleKind> exportableKinds() {
      return port.exportableKinds();
    }

    @Override
    public boolean rdmaPossible() {
      return port.rdmaPossible();
    }

    @Override
    public DeviceRange reserve(long bytes, long alignmentBytes) {
      long begun = System.nanoTime();
      try {
        return port.reserve(bytes, alignmentBytes);
      } finally {
        journal.called("virtual reserve", begun);
      }
    }

    @Override
    public DeviceRange reserveAt(DeviceRange range) {
      long begun = System.nanoTime();
      try {
        return port.reserveAt(range);
      } finally {
        journal.called("virtual reserveAt", begun);
      }
    }

    @Override
    public void freeAddresses(DeviceRange range) {
      long begun = System.nanoTime();
      try {
        port.freeAddresses(range);
      } finally {
        journal.called("virtual freeAddresses", begun);
      }
    }

    @Override
    public PhysicalHandle create(long bytes, PhysicalForm form) {
      long begun = System.nanoTime();
      try {
        return port.create(bytes, form);
      } finally {
        journal.called("virtual create", begun);
      }
    }

    @Override
    public void release(PhysicalHandle handle) {
      long begun = System.nanoTime();
      try {
        port.release(handle);
      } finally {
        journal.called("virtual release", begun);
      }
    }

    @Override
    public void map(DeviceRange range, PhysicalHandle handle) {
      long begun = System.nanoTime();
      try {
        port.map(range, handle);
      } finally {
        journal.called("virtual map", begun);
      }
    }

    @Override
    public void unmap(DeviceRange range) {
      long begun = System.nanoTime();
      try {
        port.unmap(range);
      } finally {
        journal.called("virtual unmap", begun);
      }
    }

    @Override
    public void allowAccess(DeviceRange range) {
      long begun = System.nanoTime();
      try {
        port.allowAccess(range);
      } finally {
        journal.called("virtual allowAccess", begun);
      }
    }

    @Override
    public int exportFileDescriptor(PhysicalHandle handle) {
      long begun = System.nanoTime();
      try {
        return port.exportFileDescriptor(handle);
      } finally {
        journal.called("virtual exportFileDescriptor", begun);
      }
    }

    @Override
    public PhysicalHandle importFileDescriptor(int fileDescriptor) {
      long begun = System.nanoTime();
      try {
        return port.importFileDescriptor(fileDescriptor);
      } finally {
        journal.called("virtual importFileDescriptor", begun);
      }
    }

    @Override
    public boolean rdmaCapable(DeviceRange range) {
      return port.rdmaCapable(range);
    }

    @Override
    public Optional<FabricPort> fabric() {
      return port.fabric().map(one -> new Fabric(one, journal));
    }

    @Override
    public Optional<DmaBufPort> dmaBuf() {
      return port.dmaBuf().map(one -> new DmaBuf(one, journal));
    }
  }

  private record Fabric(VirtualMemoryPort.FabricPort port, Journal journal)
      implements VirtualMemoryPort.FabricPort {

    @Override
    public void exportFabric(PhysicalHandle handle, MemorySegment into) {
      long begun = System.nanoTime();
      try {
        port.exportFabric(handle, into);
      } finally {
        journal.called("exportFabric", begun);
      }
    }

    @Override
    public PhysicalHandle importFabric(MemorySegment handle) {
      long begun = System.nanoTime();
      try {
        return port.importFabric(handle);
      } finally {
        journal.called("importFabric", begun);
      }
    }
  }

  private record DmaBuf(VirtualMemoryPort.DmaBufPort port, Journal journal)
      implements VirtualMemoryPort.DmaBufPort {

    @Override
    public int exportDmaBuf(DeviceRange range) {
      long begun = System.nanoTime();
      try {
        return port.exportDmaBuf(range);
      } finally {
        journal.called("exportDmaBuf", begun);
      }
    }
  }
}
