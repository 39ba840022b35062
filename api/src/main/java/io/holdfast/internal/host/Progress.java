package io.holdfast.internal.host;

/** How far a region is populated. Safe from any thread. */
interface Progress {
  /** Bytes from the region's start that are there. */
  long fromStart();

  /** Whether a range is there. */
  boolean has(long offsetBytes, long bytes);

  /**
   * Parks until a range is there; an interrupt is kept for later.
   *
   * @throws RuntimeException the reason when it never will be
   */
  void await(long offsetBytes, long bytes);

  /** Nothing more will come; the first reason stays. */
  void end(RuntimeException reason);
}
