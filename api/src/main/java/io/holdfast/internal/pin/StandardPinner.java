package io.holdfast.internal.pin;

import io.holdfast.host.HostMemory;
import io.holdfast.internal.core.CoreDevice;
import io.holdfast.internal.pin.StandardPinnedRegion.Manner;
import io.holdfast.internal.pin.StandardPinnedRegion.Subject;
import io.holdfast.pin.PinRequest;
import io.holdfast.pin.PinnedRegion;
import io.holdfast.pin.Pinner;
import io.holdfast.pin.QuarantinedRange;
import java.util.List;

/** The pinner of one open device; what its backend has pinned lies on a common desk. */
public final class StandardPinner implements Pinner {
  private final CoreDevice device;

  /**
   * A pinner for one device.
   *
   * @param device whose driver registers
   */
  public StandardPinner(CoreDevice device) {
    this.device = device;
  }

  @Override
  public PinnedRegion pin(HostMemory memory, PinRequest request) {
    StandardPinnedRegion region = start(memory, request, Manner.WAITED_FOR);
    region.awaitEnd();
    return region;
  }

  @Override
  public PinnedRegion pinInBackground(HostMemory memory, PinRequest request) {
    return start(memory, request, Manner.BACKGROUND);
  }

  private StandardPinnedRegion start(HostMemory memory, PinRequest request, Manner manner) {
    Subject subject = OtherMemory.seen(memory);
    boolean begun = false;
    try {
      StandardPinnedRegion region = StandardPinnedRegion.start(device, subject, request, manner);
      begun = true;
      return region;
    } finally {
      if (!begun) {
        subject.unpinned().run();
      }
    }
  }

  @Override
  public List<QuarantinedRange> quarantine() {
    return device.backend().pins().quarantine();
  }

  @Override
  public List<QuarantinedRange> retryQuarantine() {
    device.standing().requireOpen();
    return device.workers().call(() -> device.backend().pins().retryQuarantine(device));
  }
}
