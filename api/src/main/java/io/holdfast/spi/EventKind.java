package io.holdfast.spi;

/** Kinds of events. */
public enum EventKind {
  /** Order only, the cheapest. */
  ORDER,
  /** With a clock. */
  TIMED
}
