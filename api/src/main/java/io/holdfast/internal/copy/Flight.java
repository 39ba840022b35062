package io.holdfast.internal.copy;

import io.holdfast.internal.SegmentOwner;
import io.holdfast.spi.EventHandle;
import io.holdfast.spi.StreamHandle;
import org.jspecify.annotations.Nullable;

/**
 * One submission between its first driver call and the device's last byte. Written by the submitter
 * before its number is published, read by whoever looks whether it has ended; used again
 * afterwards.
 */
final class Flight {
  /** Recorded behind the last copy; made once. */
  @Nullable EventHandle end;

  /** Recorded before the first copy, where time is measured; made once. */
  @Nullable EventHandle start;

  /** Whether the end was recorded; where the driver refused, only an idle stream tells. */
  volatile boolean recorded;

  /** The stream that is idle once it has ended; absent while there is none. */
  volatile @Nullable StreamHandle stream;

  /** Told when it ends; absent where the submission failed and nobody else is to be told. */
  @Nullable StandardCompletion completion;

  /** Whose memory is used until it ends. */
  SegmentOwner[] owners = {};

  /** What the driver answered when asked for the end; it may still be working. */
  @Nullable RuntimeException failure;
}
