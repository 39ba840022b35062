package io.holdfast.internal.host;

import io.holdfast.host.PlacementReceipt;

/** Placeholder. */
public final class ReceiptJson {
  private ReceiptJson() {}

  /**
   * Placeholder.
   *
   * @param r receipt
   * @return json
   */
  public static String of(PlacementReceipt r) {
    return io.holdfast.internal.Placeholder.value();
  }
}
