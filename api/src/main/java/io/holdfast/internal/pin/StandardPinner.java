package io.holdfast.internal.pin;

import io.holdfast.host.*;
import io.holdfast.internal.core.CoreDevice;
import io.holdfast.pin.*;
import java.util.*;

/** Placeholder. */
public final class StandardPinner implements Pinner {
  /**
   * Placeholder.
   *
   * @param device whose
   */
  public StandardPinner(CoreDevice device) {}

  @Override
  public PinnedRegion pin(HostMemory memory, PinRequest request) {
    throw io.holdfast.internal.Placeholder.here();
  }

  @Override
  public PinnedRegion pinInBackground(HostMemory memory, PinRequest request) {
    throw io.holdfast.internal.Placeholder.here();
  }

  @Override
  public List<QuarantinedRange> quarantine() {
    throw io.holdfast.internal.Placeholder.here();
  }

  @Override
  public List<QuarantinedRange> retryQuarantine() {
    throw io.holdfast.internal.Placeholder.here();
  }
}
