package io.holdfast.internal.slots;

import io.holdfast.spi.DevicePort;
import io.holdfast.spi.StreamHandle;

/**
 * A queue of copies on slots, as the slots see it: submissions are numbered from 1 and end in
 * order. Nothing here takes the slots' lock.
 */
public interface CopyLane {
  /**
   * Takes its number, before anybody can meet it under that. Numbers are used again, and the
   * sequence goes on where the lane before left it, so that old tickets stay old.
   *
   * @param number among the lanes of these slots
   * @param lastSequence the last number of a submission that was used; all up to it have ended
   */
  void begin(int number, long lastSequence);

  /**
   * How far the device is known to be. Costs one volatile read.
   *
   * @return every submission up to this number has ended
   */
  long completed();

  /**
   * Looks how far the device is now. Never blocks.
   *
   * @return every submission up to this number has ended
   */
  long completedNow();

  /**
   * Makes later work on a stream wait for a submission; returns at once where it has ended, and
   * waits for the submitter where it is just being submitted.
   *
   * @param port of the waiting stream's device
   * @param stream who waits
   * @param sequence for which submission
   */
  void holdBack(DevicePort port, StreamHandle stream, long sequence);
}
