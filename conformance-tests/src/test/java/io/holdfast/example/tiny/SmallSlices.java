package io.holdfast.example.tiny;

import io.holdfast.host.HostMemory;
import io.holdfast.pin.PinRequest;
import io.holdfast.pin.PinnedRegion;
import io.holdfast.pin.Pinner;
import io.holdfast.pin.QuarantinedRange;
import java.util.List;
import java.util.OptionalLong;

/** Pins in small slices unless the caller says otherwise: libtiny's one lock is held for each. */
record SmallSlices(Pinner standard) implements Pinner {
  private static final long SLICE_BYTES = 16L << 20;

  private static PinRequest small(PinRequest request, HostMemory memory) {
    long slice = Math.max(SLICE_BYTES, memory.backingPageBytes());
    return request.sliceBytes().equals(OptionalLong.empty()) ? request.sliceBytes(slice) : request;
  }

  @Override
  public PinnedRegion pin(HostMemory memory, PinRequest request) {
    return standard.pin(memory, small(request, memory));
  }

  @Override
  public PinnedRegion pinInBackground(HostMemory memory, PinRequest request) {
    return standard.pinInBackground(memory, small(request, memory));
  }

  @Override
  public List<QuarantinedRange> quarantine() {
    return standard.quarantine();
  }

  @Override
  public List<QuarantinedRange> retryQuarantine() {
    return standard.retryQuarantine();
  }
}
