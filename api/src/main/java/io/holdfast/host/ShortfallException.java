package io.holdfast.host;

import io.holdfast.error.Category;
import io.holdfast.error.HoldfastException;
import java.io.Serial;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Not enough of something; found before the first touch, or by the kernel during it. */
@SuppressWarnings("exports") // naming @Nullable binds nobody to have it
public final class ShortfallException extends HoldfastException {
  @Serial private static final long serialVersionUID = 1L;

  /** The numbers. */
  private final transient Shortfall shortfall;

  /**
   * Names every binding limit.
   *
   * @param operation what was refused
   * @param shortfall the numbers
   * @param cause what the kernel said, where it was asked
   */
  public ShortfallException(String operation, Shortfall shortfall, @Nullable Throwable cause) {
    super(
        Category.SHORTFALL,
        operation,
        operation + " is short of memory: " + shortfall.describe(),
        shortfall.limits().stream()
            .map(Shortfall.Limit::remedy)
            .filter(remedy -> !remedy.isEmpty())
            .distinct()
            .collect(Collectors.joining("; ")),
        cause);
    this.shortfall = shortfall;
  }

  /**
   * The numbers.
   *
   * @return every limit that binds
   */
  public Shortfall shortfall() {
    return shortfall;
  }
}
