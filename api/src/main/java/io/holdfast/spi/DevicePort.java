package io.holdfast.spi;

import io.holdfast.device.MemoryInfo;
import java.lang.foreign.MemorySegment;
import java.util.Optional;

/**
 * The accelerator port of one open device: driver calls and nothing more.
 *
 * <p>Every method may be called from any thread, virtual ones too. It makes the device's context
 * current and steps out of any graph capture for the call, and leaves the thread as it found it;
 * between the two there is no lock and nothing that can block but the call itself (a process-wide
 * lock that a driver needs is taken before). A non-zero answer is a {@link
 * io.holdfast.error.DriverException} with the driver's own code. Methods that can take longer than
 * some microseconds say so; the core calls those on its own platform threads only.
 */
public interface DevicePort extends AutoCloseable {

  /**
   * What this driver differs in, for the core to obey.
   *
   * @param backingPageBytes the page under the memory that will be registered; bounds can depend on
   *     it
   * @return the traits
   */
  Traits traits(long backingPageBytes);

  // ---- host memory

  /**
   * Pins the range for every device, mapped and portable. Can take seconds.
   *
   * @param range native memory, exactly what is to be pinned
   */
  void register(MemorySegment range);

  /**
   * Unpins a range that was registered. Can take seconds.
   *
   * @param range exactly a registered range
   */
  void unregister(MemorySegment range);

  /**
   * The registered range as this device sees it.
   *
   * @param range a registered range or a part of one
   * @return the device's address of it
   */
  DeviceRange seenByDevice(MemorySegment range);

  // ---- device memory

  /**
   * Allocates device memory. Can block.
   *
   * @param bytes how much, positive
   * @return the range
   */
  DeviceRange allocate(long bytes);

  /**
   * Frees what was allocated, exactly. Can block until the device is idle.
   *
   * @param range as {@link #allocate} returned it
   */
  void free(DeviceRange range);

  /**
   * Sets every byte, in stream order.
   *
   * @param range device memory
   * @param value the byte
   * @param stream where
   */
  void fill(DeviceRange range, byte value, StreamHandle stream);

  /**
   * The allocation or mapping that holds the address.
   *
   * @param address any address
   * @return the whole range, or empty where the driver knows none
   */
  Optional<DeviceRange> rangeOf(long address);

  /**
   * Free and total device memory, other processes included.
   *
   * @return the driver's account
   */
  MemoryInfo memoryInfo();

  // ---- copies

  /**
   * One driver call per row, in order, asynchronous to the host.
   *
   * @param table the copies
   * @param from first row
   * @param to one behind the last row
   * @param stream where
   * @throws io.holdfast.error.DriverException names its row; later rows are left out
   */
  void copyEach(CopyTable table, long from, long to, StreamHandle stream);

  // ---- streams

  /**
   * A stream that does not wait for the default stream.
   *
   * @param priority as the driver counts; out of range is clamped
   * @return the stream
   */
  StreamHandle createStream(int priority);

  /**
   * A stream of somebody else's, with the context it belongs to.
   *
   * @param rawHandle the driver's handle
   * @return the stream, for this device's other methods
   */
  StreamHandle adoptStream(long rawHandle);

  /**
   * The legacy default stream of this device's context.
   *
   * @return the stream
   */
  StreamHandle legacyDefaultStream();

  /**
   * Destroys a stream once its work is done; returns before that.
   *
   * @param stream one of ours
   */
  void destroyStream(StreamHandle stream);

  /**
   * To whom a stream belongs.
   *
   * @param stream any stream
   * @return its origin
   */
  StreamOrigin originOf(StreamHandle stream);

  /**
   * Whether a graph is being captured from a stream.
   *
   * @param stream any stream
   * @return the capture's state
   */
  CaptureState captureState(StreamHandle stream);

  /**
   * Whether all work of a stream is done.
   *
   * @param stream any stream
   * @return true when idle
   */
  boolean streamIdle(StreamHandle stream);

  /**
   * Waits for all work of a stream. Blocks.
   *
   * @param stream any stream
   */
  void awaitStream(StreamHandle stream);

  /**
   * Makes later work on the stream wait for the event.
   *
   * @param stream who waits
   * @param event for what
   */
  void streamWait(StreamHandle stream, EventHandle event);

  // ---- events

  /**
   * An event that can be recorded on streams of this device's own context.
   *
   * @param kind with or without a clock
   * @return the event
   */
  EventHandle createEvent(EventKind kind);

  /**
   * An event that can be recorded on that stream, whichever context it belongs to.
   *
   * @param stream any stream of this device
   * @param kind with or without a clock
   * @return the event
   */
  EventHandle createEventFor(StreamHandle stream, EventKind kind);

  /**
   * An event of somebody else's.
   *
   * @param rawHandle the driver's handle
   * @return the event, for this device's other methods
   */
  EventHandle adoptEvent(long rawHandle);

  /**
   * Destroys an event.
   *
   * @param event one of ours
   */
  void destroyEvent(EventHandle event);

  /**
   * Moves an event behind the stream's work.
   *
   * @param event made for that stream's context
   * @param stream where
   */
  void recordEvent(EventHandle event, StreamHandle stream);

  /**
   * Whether an event has passed; a driver may answer true for one never recorded.
   *
   * @param event any event
   * @return true when passed
   */
  boolean eventPassed(EventHandle event);

  /**
   * Waits for an event. Blocks.
   *
   * @param event any event
   */
  void awaitEvent(EventHandle event);

  /**
   * Device time between two timed events that have passed.
   *
   * @param start the earlier
   * @param end the later
   * @return nanoseconds
   */
  long nanosBetween(EventHandle start, EventHandle end);

  // ---- what a driver may lack

  /**
   * Many copies in one driver call.
   *
   * @return the port, or empty
   */
  default Optional<BatchCopyPort> batchCopies() {
    return Optional.empty();
  }

  /**
   * Copies by the device's own cores.
   *
   * @return the port, or empty
   */
  default Optional<KernelCopyPort> kernelCopies() {
    return Optional.empty();
  }

  /**
   * Why there are no {@link #kernelCopies()}, for people.
   *
   * @return one sentence, or empty where there is nothing to say
   */
  default Optional<String> kernelAbsence() {
    return Optional.empty();
  }

  /**
   * Regular rows in one driver call.
   *
   * @return the port, or empty
   */
  default Optional<PitchedCopyPort> pitchedCopies() {
    return Optional.empty();
  }

  /**
   * Host memory that the driver allocates.
   *
   * @return the port, or empty
   */
  default Optional<HostAllocationPort> hostAllocations() {
    return Optional.empty();
  }

  /**
   * Addresses apart from memory.
   *
   * @return the port, or empty
   */
  default Optional<VirtualMemoryPort> virtualMemory() {
    return Optional.empty();
  }

  /** Releases what opening retained, once. Idempotent. */
  @Override
  void close();
}
