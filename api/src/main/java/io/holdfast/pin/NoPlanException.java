package io.holdfast.pin;

import io.holdfast.error.Category;
import io.holdfast.error.HoldfastException;

/** No legal plan exists; nothing was touched. */
public final class NoPlanException extends HoldfastException {
  private static final long serialVersionUID = 1L;

  /** The numbers; not kept by Java serialization. */
  private final transient PlanOutcome.Infeasible why;

  /**
   * Carries the reason with its numbers.
   *
   * @param why why there is no plan
   */
  public NoPlanException(PlanOutcome.Infeasible why) {
    super(
        Category.LIMIT,
        "plan registrations",
        why.what(),
        "Allow cuts inside blocks, or use one of: " + why.wouldWork(),
        null);
    this.why = why;
  }

  /**
   * The reason with its numbers.
   *
   * @return why there is no plan
   */
  public PlanOutcome.Infeasible why() {
    return why;
  }
}
