package io.holdfast.spi;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import java.util.Objects;

/**
 * Copies to submit: three off-heap columns of 64-bit words, in the form drivers take them.
 *
 * <p>Belongs to the caller; the columns stay alive and unchanged until the submission's event has
 * passed. Reading a row allocates nothing.
 */
public final class CopyTable {
  private final MemorySegment destinations;
  private final MemorySegment sources;
  private final MemorySegment byteCounts;
  private final Direction direction;

  /**
   * Columns of equal length, all rows in one direction.
   *
   * @param destinations addresses as the driver takes them
   * @param sources addresses as the driver takes them
   * @param byteCounts bytes of each row, positive
   * @param direction of all rows
   */
  public CopyTable(
      MemorySegment destinations,
      MemorySegment sources,
      MemorySegment byteCounts,
      Direction direction) {
    long bytes = destinations.byteSize();
    if (sources.byteSize() != bytes || byteCounts.byteSize() != bytes || bytes % 8 != 0) {
      throw new IllegalArgumentException(
          "columns must be equally long and of 64-bit words: "
              + bytes
              + ", "
              + sources.byteSize()
              + ", "
              + byteCounts.byteSize()
              + " bytes");
    }
    this.destinations = destinations;
    this.sources = sources;
    this.byteCounts = byteCounts;
    this.direction = Objects.requireNonNull(direction, "direction");
  }

  /**
   * The destinations, for a batch call.
   *
   * @return one 64-bit word for each row
   */
  public MemorySegment destinations() {
    return destinations;
  }

  /**
   * The sources, for a batch call.
   *
   * @return one 64-bit word for each row
   */
  public MemorySegment sources() {
    return sources;
  }

  /**
   * The byte counts, for a batch call.
   *
   * @return one 64-bit word for each row
   */
  public MemorySegment byteCounts() {
    return byteCounts;
  }

  /**
   * How many rows fit.
   *
   * @return rows
   */
  public long capacity() {
    return destinations.byteSize() / 8;
  }

  /**
   * One row's destination.
   *
   * @param row which
   * @return the address
   */
  public long destination(long row) {
    return destinations.getAtIndex(JAVA_LONG, row);
  }

  /**
   * One row's source.
   *
   * @param row which
   * @return the address
   */
  public long source(long row) {
    return sources.getAtIndex(JAVA_LONG, row);
  }

  /**
   * One row's bytes.
   *
   * @param row which
   * @return bytes, never zero in a submitted row
   */
  public long bytes(long row) {
    return byteCounts.getAtIndex(JAVA_LONG, row);
  }

  /**
   * Writes one row.
   *
   * @param row which
   * @param destination address
   * @param source address
   * @param bytes positive
   */
  public void set(long row, long destination, long source, long bytes) {
    destinations.setAtIndex(JAVA_LONG, row, destination);
    sources.setAtIndex(JAVA_LONG, row, source);
    byteCounts.setAtIndex(JAVA_LONG, row, bytes);
  }

  /**
   * All rows' direction.
   *
   * @return the direction
   */
  public Direction direction() {
    return direction;
  }

  /** Which side is the host. */
  public enum Direction {
    /** The source. */
    HOST_TO_DEVICE,
    /** The destination. */
    DEVICE_TO_HOST,
    /** Neither. */
    DEVICE_TO_DEVICE
  }
}
