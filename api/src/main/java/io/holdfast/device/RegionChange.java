package io.holdfast.device;

/**
 * What is about to happen to a region's pages.
 *
 * @param kind which change
 * @param epoch the epoch after it
 */
public record RegionChange(Kind kind, long epoch) {
  /** The changes. */
  public enum Kind {
    /** New pages behind the old ones. */
    GROW,
    /** The same addresses get other pages. */
    EXCHANGE,
    /** The pages go. */
    RELEASE,
    /** Pages come back, zeroed. */
    RECOMMIT,
    /** The region goes. */
    CLOSE
  }
}
