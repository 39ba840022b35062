package io.holdfast.backend.cpusim.driver;

import org.jspecify.annotations.Nullable;

/** One thing that a stream does; guarded by the driver's lock but for {@link Body#run}. */
final class Work {
  /** What is done. */
  interface Body {
    /**
     * Does it, without the driver's lock.
     *
     * @return 0, or the code by which the context is lost
     */
    int run();

    /** How long the device takes beyond doing it. */
    default long nanos() {
      return 0;
    }

    /** Bytes that cross the link to the host. */
    default long linkBytes() {
      return 0;
    }

    /** 0 towards the device, 1 towards the host. */
    default int linkDirection() {
      return 0;
    }
  }

  /** Work that must be done before. */
  static final class Dependency {
    final Stream stream;
    final long ticket;
    final @Nullable Dependency next;

    Dependency(Stream stream, long ticket, @Nullable Dependency next) {
      this.stream = stream;
      this.ticket = ticket;
      this.next = next;
    }
  }

  final Operation operation;
  final Body body;
  final @Nullable Dependency dependencies;
  final @Nullable Blocker blocker;
  long ticket;

  /** When the link is done with it, or 0. */
  long doneAtNanos;

  Work(
      Operation operation,
      Body body,
      @Nullable Dependency dependencies,
      @Nullable Blocker blocker) {
    this.operation = operation;
    this.body = body;
    this.dependencies = dependencies;
    this.blocker = blocker;
  }

  /** The first stream that this still waits for, or null. */
  @Nullable Stream waitsFor() {
    for (Dependency d = dependencies; d != null; d = d.next) {
      if (d.stream.completed < d.ticket) {
        return d.stream;
      }
    }
    return null;
  }

  boolean held() {
    return blocker != null && !blocker.released;
  }
}
