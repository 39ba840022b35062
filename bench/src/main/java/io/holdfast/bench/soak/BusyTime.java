package io.holdfast.bench.soak;

/** Time in which at least one of several overlapping things was under way. Safe from any thread. */
final class BusyTime {
  private int underway;
  private long since;
  private long nanos;
  private long bytes;

  synchronized void begin() {
    if (underway++ == 0) {
      since = System.nanoTime();
    }
  }

  synchronized void end(long moved) {
    bytes += moved;
    if (--underway == 0) {
      nanos += System.nanoTime() - since;
    }
  }

  /** Bytes moved for each nanosecond in which any were: GB/s in the decimal sense. */
  synchronized double gigabytesPerSecond() {
    return nanos == 0 ? 0 : (double) bytes / nanos;
  }

  synchronized long bytes() {
    return bytes;
  }
}
