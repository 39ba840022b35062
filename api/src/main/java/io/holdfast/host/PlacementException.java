package io.holdfast.host;

import io.holdfast.error.Category;
import io.holdfast.error.HoldfastException;
import java.io.Serial;

/** The receipt disagrees with a request that required it. */
public final class PlacementException extends HoldfastException {
  @Serial private static final long serialVersionUID = 1L;

  /** What the kernel did. */
  private final transient PlacementReceipt receipt;

  /**
   * Asked and got.
   *
   * @param what the disagreement with its numbers, without a full stop
   * @param receipt what the kernel did
   */
  public PlacementException(String what, PlacementReceipt receipt) {
    super(
        Category.DISAGREEMENT,
        "PageSource.map",
        what,
        "Free memory on the wanted node, or ask with placement PREFER",
        null);
    this.receipt = receipt;
  }

  /**
   * What the kernel did.
   *
   * @return the receipt
   */
  public PlacementReceipt receipt() {
    return receipt;
  }
}
