package io.holdfast.bench.replay;

import io.holdfast.copy.CopyPath;
import io.holdfast.event.Activity;
import io.holdfast.event.Statistics.Tally;
import java.time.Instant;

/**
 * One event of a recording.
 *
 * @param activity what was done
 * @param start when it began
 * @param backend by which
 * @param device on which device, negative for none
 * @param subject number of the thing
 * @param ground number of what that stands on; 0 for a backend itself
 * @param tally how it went
 * @param details what only this kind of event has
 */
record Told(
    Activity activity,
    Instant start,
    String backend,
    int device,
    long subject,
    long ground,
    Tally tally,
    Details details) {

  boolean failed() {
    return tally.failures() > 0;
  }

  /** What only some events have. */
  sealed interface Details {}

  /** No more. */
  record Nothing() implements Details {}

  /** Of a mapping. */
  record Mapping(long logicalBytes, long pageBytes, String pages) implements Details {}

  /** Of a registration. */
  record Range(long start, long offset, long wholeBytes) implements Details {}

  /** Of a batch. */
  record Copy(Ends ends, CopyPath path, long pairs, long rows) implements Details {}

  /** From where to where a batch went. */
  record Ends(
      String shape,
      long slots,
      String hostArrangement,
      long deviceBlocks,
      String deviceArrangement) {}

  /** Of a change of extensible memory. */
  record Change(String shape, long capacity, String arrangement, String detail, long blocks)
      implements Details {}
}
