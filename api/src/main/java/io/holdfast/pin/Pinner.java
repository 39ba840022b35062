package io.holdfast.pin;

import io.holdfast.host.HostMemory;
import java.util.List;

/** Makes host memory usable by a device, and by every open device of the same backend. */
public interface Pinner {
  /**
   * Pins all of it, or none; returns when it is usable.
   *
   * @param memory what to pin
   * @param request how
   * @return the pins
   * @throws NoPlanException no legal plan exists; nothing was touched
   * @throws PinException a range was refused and all went back, or a limit forbids it and the
   *     driver was not asked
   */
  PinnedRegion pin(HostMemory memory, PinRequest request);

  /**
   * Starts pinning, behind populate where that still runs; the watermark moves.
   *
   * @param memory what to pin
   * @param request how
   * @return the pins so far
   * @throws NoPlanException no legal plan exists; nothing was touched
   * @throws PinException a limit forbids it; the driver was not asked
   */
  PinnedRegion pinInBackground(HostMemory memory, PinRequest request);

  /**
   * Ranges whose unregister failed: still pinned, still counted, never unmapped.
   *
   * @return the quarantine, oldest first
   */
  List<QuarantinedRange> quarantine();

  /**
   * Tries those again.
   *
   * @return what remains
   */
  List<QuarantinedRange> retryQuarantine();
}
