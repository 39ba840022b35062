package io.holdfast.layout;

import java.util.Locale;

/**
 * Two planes claim the same bytes, or lie through one another in a way that no row of blocks can
 * describe. This is misuse of the caller's own numbers, found before any memory is touched.
 */
public final class OverlapException extends IllegalArgumentException {
  private static final long serialVersionUID = 1L;

  /** Index of the plane that starts first. */
  private final int firstPlane;

  /** Index of the other plane. */
  private final int secondPlane;

  /**
   * Names both planes and why they cannot both be there.
   *
   * @param firstPlane index of one plane in the list that was checked
   * @param first that plane
   * @param secondPlane index of the other plane
   * @param second the other plane
   * @param why one sentence on the conflict, without a full stop
   */
  public OverlapException(int firstPlane, Plane first, int secondPlane, Plane second, String why) {
    super(
        String.format(
            Locale.ROOT,
            "plane %d (%s) and plane %d (%s) overlap: %s",
            firstPlane,
            first.describe(),
            secondPlane,
            second.describe(),
            why));
    this.firstPlane = firstPlane;
    this.secondPlane = secondPlane;
  }

  /**
   * The plane that starts first.
   *
   * @return its index in the list that was checked
   */
  public int firstPlane() {
    return firstPlane;
  }

  /**
   * The plane in conflict with {@link #firstPlane()}.
   *
   * @return its index in the list that was checked
   */
  public int secondPlane() {
    return secondPlane;
  }
}
