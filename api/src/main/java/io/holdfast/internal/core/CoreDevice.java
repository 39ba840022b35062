package io.holdfast.internal.core;

import io.holdfast.Device;
import io.holdfast.copy.CopyEngine;
import io.holdfast.device.Capabilities;
import io.holdfast.device.Capability;
import io.holdfast.device.DeviceEvent;
import io.holdfast.device.DeviceInfo;
import io.holdfast.device.DeviceMemory;
import io.holdfast.device.DeviceSegment;
import io.holdfast.device.DeviceStream;
import io.holdfast.device.HandleKind;
import io.holdfast.error.BusyException;
import io.holdfast.internal.Segment;
import io.holdfast.internal.SegmentOwner;
import io.holdfast.internal.core.CoreStream.Ownership;
import io.holdfast.internal.event.Journal;
import io.holdfast.internal.tree.Standing;
import io.holdfast.internal.tree.UseCount;
import io.holdfast.pin.Pinner;
import io.holdfast.spi.BatchCopyPort;
import io.holdfast.spi.CaptureState;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.DeviceRange;
import io.holdfast.spi.EventHandle;
import io.holdfast.spi.EventKind;
import io.holdfast.spi.StreamHandle;
import io.holdfast.spi.StreamOrigin;
import io.holdfast.spi.Traits.RegistrationBound;
import io.holdfast.spi.VirtualMemoryPort;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;

/** An open device: its port, its threads, and the rooms of policy over it. */
public final class CoreDevice implements Device {
  private final CoreBackend backend;
  private final DeviceInfo info;
  private final DevicePort port;
  private final Journal journal;
  private final Place place;
  private final Poller poller;
  private final Capabilities capabilities;
  private final DeviceMemory memory;
  private final Pinner pinner;
  private final CopyEngine copyEngine;

  /** Takes over the port. */
  CoreDevice(CoreBackend backend, DeviceInfo info, DevicePort port, Journal journal) {
    this.backend = backend;
    this.info = info;
    this.port = port;
    this.journal = journal;
    this.capabilities = capabilitiesOf(port, backend.kernel().basePageBytes());
    this.place = new Place(this);
    this.memory = backend.rooms().memory(this);
    this.pinner = backend.rooms().pinner(this);
    this.copyEngine = backend.rooms().copyEngine(this);
    // Last: it is a thread.
    this.poller = new Poller(backend.id() + "-" + info.ordinal(), backend.kernel()::wakeOnTime);
  }

  /**
   * Derives what a device can do from the ports it has.
   *
   * @param port the device's
   * @param basePageBytes of the host
   * @return the capabilities
   */
  private static Capabilities capabilitiesOf(DevicePort port, long basePageBytes) {
    Set<Capability> present = EnumSet.noneOf(Capability.class);
    Optional<BatchCopyPort> batch = port.batchCopies();
    if (batch.isPresent()) {
      present.add(Capability.BATCH_COPY);
    }
    if (port.kernelCopies().isPresent()) {
      present.add(Capability.KERNEL_COPY);
    }
    if (port.pitchedCopies().isPresent()) {
      present.add(Capability.PITCHED_COPY);
    }
    if (port.hostAllocations().isPresent()) {
      present.add(Capability.DRIVER_HOST_MEMORY);
    }
    port.virtualMemory().ifPresent(virtual -> addVirtual(present, virtual));
    long most =
        port.traits(basePageBytes).bounds().stream()
            .mapToLong(RegistrationBound::maxBytes)
            .min()
            .orElse(Long.MAX_VALUE);
    return new Capabilities(present, most, batch.map(BatchCopyPort::maxRows).orElse(0));
  }

  private static void addVirtual(Set<Capability> present, VirtualMemoryPort virtual) {
    present.add(Capability.VIRTUAL_MEMORY);
    Set<HandleKind> kinds = virtual.exportableKinds();
    if (kinds.contains(HandleKind.POSIX_FD)) {
      present.add(Capability.EXPORT_POSIX_FD);
    }
    if (kinds.contains(HandleKind.FABRIC) && virtual.fabric().isPresent()) {
      present.add(Capability.EXPORT_FABRIC);
    }
    if (virtual.dmaBuf().isPresent()) {
      present.add(Capability.EXPORT_DMA_BUF);
    }
    if (virtual.rdmaPossible()) {
      present.add(Capability.RDMA);
    }
  }

  /**
   * Where what is done on it is counted.
   *
   * @return its page of the backend's journal
   */
  public Journal journal() {
    return journal;
  }

  /**
   * The backend it was opened from.
   *
   * @return the backend
   */
  public CoreBackend backend() {
    return backend;
  }

  /**
   * The driver's side of it.
   *
   * @return the port
   */
  public DevicePort port() {
    return port;
  }

  /**
   * Who looks whether its work is done.
   *
   * @return the poller
   */
  public Poller poller() {
    return poller;
  }

  /**
   * Threads for calls that can block.
   *
   * @return the backend's threads
   */
  public Workers workers() {
    return backend.workers();
  }

  /**
   * What everything opened from it stands on.
   *
   * @return its place in the tree
   */
  public Standing standing() {
    return place;
  }

  @Override
  public DeviceInfo info() {
    return info;
  }

  @Override
  public Capabilities capabilities() {
    return capabilities;
  }

  @Override
  public DeviceMemory memory() {
    place.requireOpen();
    return memory;
  }

  @Override
  public Pinner pinner() {
    place.requireOpen();
    return pinner;
  }

  @Override
  public CopyEngine copyEngine() {
    place.requireOpen();
    return copyEngine;
  }

  @Override
  public DeviceStream newStream() {
    place.requireOpen();
    StreamHandle handle = port.createStream(0);
    try {
      return CoreStream.of(this, handle, Ownership.OURS);
    } catch (Throwable failure) {
      port.destroyStream(handle);
      throw failure;
    }
  }

  @Override
  public DeviceEvent newEvent() {
    place.requireOpen();
    EventHandle handle = port.createEvent(EventKind.ORDER);
    try {
      return Standing.enrolled(new CoreEvent(this, handle, Ownership.OURS));
    } catch (Throwable failure) {
      port.destroyEvent(handle);
      throw failure;
    }
  }

  @Override
  public DeviceStream wrapStream(long streamHandle) {
    place.requireOpen();
    StreamHandle handle = port.adoptStream(streamHandle);
    StreamOrigin origin = port.originOf(handle);
    switch (origin) {
      case DEFAULT_STREAM ->
          throw new IllegalArgumentException(
              "stream handle "
                  + streamHandle
                  + " is a default stream, which means whatever is current; name it with"
                  + " legacyDefaultStream()");
      case OTHER_DEVICE ->
          throw new IllegalArgumentException(
              "stream 0x"
                  + Long.toHexString(streamHandle)
                  + " belongs to another device than "
                  + info.ordinal());
      case OWN_CONTEXT, FOREIGN_CONTEXT -> {
        CaptureState state = port.captureState(handle);
        if (state != CaptureState.NONE) {
          throw new BusyException("wrapping a stream", List.of("a graph capture (" + state + ")"));
        }
      }
    }
    return CoreStream.of(this, handle, Ownership.THEIRS);
  }

  @Override
  public DeviceStream legacyDefaultStream() {
    place.requireOpen();
    return CoreStream.of(this, port.legacyDefaultStream(), Ownership.THEIRS);
  }

  @Override
  public DeviceEvent wrapEvent(long eventHandle) {
    place.requireOpen();
    return Standing.enrolled(new CoreEvent(this, port.adoptEvent(eventHandle), Ownership.THEIRS));
  }

  @Override
  public DeviceSegment wrapMemory(long address, long bytes) {
    place.requireOpen();
    if (bytes <= 0) {
      throw new IllegalArgumentException("bytes must be positive, not " + bytes);
    }
    DeviceRange known =
        port.rangeOf(address)
            .orElseThrow(
                () ->
                    new IllegalArgumentException(
                        "the driver knows no allocation at 0x" + Long.toHexString(address)));
    long end = Math.addExact(address, bytes);
    if (Long.compareUnsigned(end, known.endAddress()) > 0) {
      throw new IllegalArgumentException(
          String.format(
              Locale.ROOT,
              "%d bytes at 0x%x reach %d bytes beyond the allocation of %d bytes at 0x%x",
              bytes,
              address,
              end - known.endAddress(),
              known.bytes(),
              known.address()));
    }
    return new Segment(info, address, bytes, place);
  }

  @Override
  public void close() {
    place.close();
  }

  @Override
  public String toString() {
    return backend.id() + " device " + info.ordinal() + " (" + info.name() + ")";
  }

  /** Its place in the tree; it also answers for memory that was wrapped. */
  private static final class Place extends Standing implements SegmentOwner {
    private final CoreDevice device;
    private final UseCount uses = new UseCount();

    Place(CoreDevice device) {
      super(device.toString(), device.backend.standing());
      this.device = Objects.requireNonNull(device);
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
    protected void release() {
      try {
        device.poller.close();
      } finally {
        device.workers().run(device.port::close);
      }
    }
  }
}
