package io.holdfast.internal.pin;
import io.holdfast.host.*; import io.holdfast.pin.*; import io.holdfast.internal.core.CoreDevice; import java.util.*;
/** Placeholder. */
public final class StandardPinner implements Pinner {
  /** Placeholder.
   * @param device whose */
  public StandardPinner(CoreDevice device) {}
  @Override public PinnedRegion pin(HostMemory memory, PinRequest request) { throw new io.holdfast.error.UnsupportedException("PLACEHOLDER", "not there yet", ""); }
  @Override public PinnedRegion pinInBackground(HostMemory memory, PinRequest request) { throw new io.holdfast.error.UnsupportedException("PLACEHOLDER", "not there yet", ""); }
  @Override public List<QuarantinedRange> quarantine() { throw new io.holdfast.error.UnsupportedException("PLACEHOLDER", "not there yet", ""); }
  @Override public List<QuarantinedRange> retryQuarantine() { throw new io.holdfast.error.UnsupportedException("PLACEHOLDER", "not there yet", ""); }
}
