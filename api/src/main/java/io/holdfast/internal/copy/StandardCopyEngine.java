package io.holdfast.internal.copy;
import io.holdfast.host.*; import io.holdfast.pin.*; import io.holdfast.copy.*; import io.holdfast.device.*; import io.holdfast.layout.*; import io.holdfast.internal.core.CoreDevice; import java.util.*;
/** Placeholder. */
public final class StandardCopyEngine implements CopyEngine {
  /** Placeholder.
   * @param device whose */
  public StandardCopyEngine(CoreDevice device) {}
  @Override public CopyRoute route(DeviceBlocks device, HostBlocks host, CopyOptions options) { throw new io.holdfast.error.UnsupportedException("PLACEHOLDER", "not there yet", ""); }
  @Override public HostBlocks staged(HostMemory unpinned, BlockLayout layout) { throw new io.holdfast.error.UnsupportedException("PLACEHOLDER", "not there yet", ""); }
}
