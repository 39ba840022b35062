package io.holdfast.device;

/** How much a wish counts. */
public enum Demand {
  /** Or fail, before anything is changed. */
  REQUIRE,
  /** If it can be had; the outcome says whether. */
  PREFER,
  /** Do not even ask. */
  OFF
}
