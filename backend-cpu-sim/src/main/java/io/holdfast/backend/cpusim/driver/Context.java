package io.holdfast.backend.cpusim.driver;

import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.Set;

/** A context; guarded by the driver's lock. */
final class Context {
  final long handle;
  final int device;
  final boolean primary;
  final Stream legacy;

  /** Streams that are neither destroyed nor drained, the legacy one included. */
  final Set<Stream> streams = new LinkedHashSet<>();

  /** Other devices whose memory it was let use. */
  final Set<Integer> peers = new HashSet<>();

  int retains;
  boolean alive = true;

  /** The answer to everything from now on, or 0. Read without the lock. */
  volatile int lostCode;

  Context(long handle, int device, boolean primary) {
    this.handle = handle;
    this.device = device;
    this.primary = primary;
    this.legacy = new Stream(Stream.LEGACY, this, Stream.Kind.LEGACY, 0);
    streams.add(legacy);
  }
}
