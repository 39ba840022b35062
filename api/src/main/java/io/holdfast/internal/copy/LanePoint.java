package io.holdfast.internal.copy;

import io.holdfast.internal.core.CoreBackend;
import io.holdfast.internal.core.CorePoint;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.StreamHandle;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/** The end of a lane's submission, without a completion; number 0 has always ended. */
final class LanePoint implements CorePoint {
  private final Lane lane;

  /** Which; changed only by the lane, for a point that nobody keeps. */
  long sequence;

  LanePoint(Lane lane, long sequence) {
    this.lane = lane;
    this.sequence = sequence;
  }

  @Override
  public void holdBack(DevicePort port, StreamHandle stream) {
    lane.holdBack(port, stream, sequence);
  }

  @Override
  public CoreBackend backend() {
    return lane.backend();
  }

  @Override
  public boolean isDone() {
    return lane.completed() >= sequence || lane.completedNow() >= sequence;
  }

  @Override
  public void await() {
    lane.awaitEnd(sequence);
  }

  @Override
  public boolean await(Duration atMost) {
    long begun = System.nanoTime();
    long nanos = atMost.toNanos();
    while (!isDone()) {
      if (System.nanoTime() - begun >= nanos) {
        return false;
      }
      LockSupport.parkNanos(this, 20_000);
    }
    return true;
  }
}
