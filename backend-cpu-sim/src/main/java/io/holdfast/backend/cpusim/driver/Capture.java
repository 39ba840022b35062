package io.holdfast.backend.cpusim.driver;

import java.util.ArrayList;
import java.util.List;

/** A graph being captured; guarded by the driver's lock. */
final class Capture {
  static final int GLOBAL = 0;
  static final int THREAD_LOCAL = 1;
  static final int RELAXED = 2;

  final Stream origin;
  final ThreadState owner;
  final int mode;

  /** Streams that joined by waiting for an event of it. */
  final List<Stream> joined = new ArrayList<>();

  /** What was captured, in order. */
  final List<Work> nodes = new ArrayList<>();

  boolean invalidated;
  boolean ended;

  Capture(Stream origin, ThreadState owner, int mode) {
    this.origin = origin;
    this.owner = owner;
    this.mode = mode;
  }
}
