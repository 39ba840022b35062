package io.holdfast.pin;

import io.holdfast.host.HostMemory;
import java.util.List;

/** Makes host memory usable by a device, and by every open device of the same backend. */
public interface Pinner {
  /**
   * System property: most bytes that may be pinned, read when a plan is made; absent for no limit.
   * Counts this process alone, or all that share a ledger.
   */
  String BUDGET_PROPERTY = "holdfast.pin.budget";

  /**
   * System property: an existing directory in which the processes of a host keep account of what
   * they have pinned, so that a budget counts them all. Read when a plan is made.
   */
  String LEDGER_PROPERTY = "holdfast.pin.ledger";

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
