package io.holdfast.backend.cpusim.driver;

import org.jspecify.annotations.Nullable;

/** An event; guarded by the driver's lock. */
final class Event {
  final long handle;
  final Context context;
  final boolean timed;

  /** Where it was last recorded, or null while it never was. */
  @Nullable Stream stream;

  /** Behind which work. */
  long ticket;

  /** When it passed. */
  long passedNanos;

  /** The capture it was last recorded in, or null. */
  @Nullable Capture capture;

  Event(long handle, Context context, boolean timed) {
    this.handle = handle;
    this.context = context;
    this.timed = timed;
  }

  boolean passed() {
    return stream == null || stream.completed >= ticket;
  }
}
