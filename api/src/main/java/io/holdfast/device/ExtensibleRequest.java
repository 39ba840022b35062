package io.holdfast.device;

import io.holdfast.layout.BlockLayout;
import io.holdfast.layout.Plane;
import java.util.Locale;
import java.util.Objects;

/**
 * An address range for a whole capacity.
 *
 * @param capacity the layout at its largest; one packed row per block is checked
 * @param shareable physical memory another process can import
 * @param rdma physical memory a network card can read
 * @param virtualMemory PREFER: an ordinary allocation of full size where the driver cannot, with a
 *     note
 */
public record ExtensibleRequest(
    BlockLayout capacity, Demand shareable, Demand rdma, Demand virtualMemory) {
  /**
   * Checks.
   *
   * @throws IllegalArgumentException when a segment has not exactly one row for each block
   */
  public ExtensibleRequest {
    Objects.requireNonNull(capacity, "capacity");
    Objects.requireNonNull(shareable, "shareable");
    Objects.requireNonNull(rdma, "rdma");
    Objects.requireNonNull(virtualMemory, "virtualMemory");
    requireRows(capacity);
  }

  /** One row for each block in every segment: only then is a prefix of blocks a prefix of bytes. */
  private static void requireRows(BlockLayout capacity) {
    for (Plane row : capacity.rows()) {
      if (row.blocks() != capacity.blocks()) {
        throw new IllegalArgumentException(
            String.format(
                    Locale.ROOT,
                    "a segment of %d rows for %d blocks: planes that lie through one another must"
                        + " start in",
                    row.blocks(),
                    capacity.blocks())
                + " the same row");
      }
    }
  }

  /**
   * Private memory that really grows.
   *
   * @param capacity the layout at its largest
   * @return the request
   */
  public static ExtensibleRequest of(BlockLayout capacity) {
    return new ExtensibleRequest(capacity, Demand.OFF, Demand.OFF, Demand.REQUIRE);
  }

  /**
   * A changed copy.
   *
   * @param demand how much it counts that another process can import the memory
   * @return the copy
   */
  public ExtensibleRequest shareable(Demand demand) {
    return new ExtensibleRequest(capacity, demand, rdma, virtualMemory);
  }

  /**
   * A changed copy.
   *
   * @param demand how much it counts that a network card can read the memory
   * @return the copy
   */
  public ExtensibleRequest rdma(Demand demand) {
    return new ExtensibleRequest(capacity, shareable, demand, virtualMemory);
  }

  /**
   * A changed copy.
   *
   * @param demand how much it counts that the memory really grows
   * @return the copy
   */
  public ExtensibleRequest virtualMemory(Demand demand) {
    return new ExtensibleRequest(capacity, shareable, rdma, demand);
  }
}
