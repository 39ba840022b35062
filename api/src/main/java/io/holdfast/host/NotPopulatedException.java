package io.holdfast.host;

import io.holdfast.error.Category;
import io.holdfast.error.HoldfastException;
import java.io.Serial;

/** A view was asked for before its pages were there. */
public final class NotPopulatedException extends HoldfastException {
  @Serial private static final long serialVersionUID = 1L;

  /** Wanted. */
  private final long neededBytes;

  /** There. */
  private final long populatedBytes;

  /**
   * How much is there.
   *
   * @param neededBytes from the region's start
   * @param populatedBytes from the region's start
   */
  public NotPopulatedException(long neededBytes, long populatedBytes) {
    super(
        Category.NOT_READY,
        "HostMemory.segment",
        "only "
            + populatedBytes
            + " of the "
            + neededBytes
            + " bytes that the view needs are populated",
        "Wait for HostRegion.ready()",
        null);
    this.neededBytes = neededBytes;
    this.populatedBytes = populatedBytes;
  }

  /**
   * How much the view needs.
   *
   * @return bytes from the region's start
   */
  public long neededBytes() {
    return neededBytes;
  }

  /**
   * How much was there.
   *
   * @return bytes from the region's start
   */
  public long populatedBytes() {
    return populatedBytes;
  }
}
