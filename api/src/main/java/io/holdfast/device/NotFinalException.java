package io.holdfast.device;

import io.holdfast.error.Category;
import io.holdfast.error.HoldfastException;
import java.io.Serial;

/** Handles of memory whose size is not final were asked for; nothing was changed. */
public final class NotFinalException extends HoldfastException {
  @Serial private static final long serialVersionUID = 1L;

  /**
   * Names what was asked for.
   *
   * @param operation what was asked for
   * @param state where the region stands
   */
  public NotFinalException(String operation, ExtensibleRegion.State state) {
    super(
        Category.NOT_READY,
        operation,
        operation + " needs the final size, and the region is " + state,
        "Call seal(finalBlocks, lastUse) first, or listen to whenFinal()",
        null);
  }
}
