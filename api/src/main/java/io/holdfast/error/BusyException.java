package io.holdfast.error;

import java.io.Serial;
import java.util.List;

/** Something is still in use; nothing was changed, and the call can be repeated. */
public final class BusyException extends HoldfastException {
  @Serial private static final long serialVersionUID = 1L;

  /** Who holds it. */
  @SuppressWarnings("serial") // always an immutable list of strings
  private final List<String> holders;

  /**
   * Names every holder, in words a reader can find in their own code.
   *
   * @param operation what was refused
   * @param holders who holds it, at least one
   */
  public BusyException(String operation, List<String> holders) {
    super(
        Category.BUSY,
        operation,
        operation + " is refused while in use by " + String.join(", ", holders),
        "Let them end, then repeat the call; nothing was changed",
        null);
    this.holders = List.copyOf(holders);
  }

  /**
   * Who holds it: copies in flight, leases, holds, each by name.
   *
   * @return the holders, immutable
   */
  public List<String> holders() {
    return holders;
  }
}
