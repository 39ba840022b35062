package io.holdfast.backend.cpusim.driver;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A queue of device work; guarded by the driver's lock. */
final class Stream {
  /** The legacy default stream by its null handle. */
  static final long NULL = 0;

  /** The legacy default stream by name. */
  static final long LEGACY = 1;

  /** The calling thread's default stream. */
  static final long PER_THREAD = 2;

  /** How a stream orders against the legacy default stream. */
  enum Kind {
    /** It is the legacy default stream. */
    LEGACY,
    /** Waits for it, and it waits for this. */
    BLOCKING,
    /** The two do not know each other. */
    NON_BLOCKING
  }

  final long handle;
  final Context context;
  final Kind kind;
  final int priority;

  /** Work that has not begun, oldest first. */
  final ArrayDeque<Work> queue = new ArrayDeque<>();

  /** Streams whose oldest work waits for this one. */
  final List<Stream> waiters = new ArrayList<>();

  /** Number of the youngest work ever put here. */
  long submitted;

  /** Number of the youngest work that is done; all before it are. */
  long completed;

  /** Youngest work of the legacy stream that work here already waits for. */
  long legacySeen;

  /** Whether somebody is running work from here now. */
  boolean running;

  boolean destroyed;
  @Nullable Capture capture;

  /** What this stream has added to the capture it joined. */
  long capturedNodes;

  Stream(long handle, Context context, Kind kind, int priority) {
    this.handle = handle;
    this.context = context;
    this.kind = kind;
    this.priority = priority;
  }

  boolean idle() {
    return completed == submitted;
  }

  @Override
  public String toString() {
    return "stream 0x" + Long.toHexString(handle);
  }
}
