package io.holdfast;

/** What kind of thing a backend drives. */
public enum BackendKind {
  /** A real device. */
  HARDWARE,
  /** A simulation; never chosen unless allowed or named. */
  SIMULATOR
}
