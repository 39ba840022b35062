package io.holdfast.internal.copy;

import io.holdfast.copy.*;
import io.holdfast.device.*;
import io.holdfast.host.*;
import io.holdfast.internal.core.CoreDevice;
import io.holdfast.layout.*;
import io.holdfast.pin.*;
import java.util.*;

/** Placeholder. */
public final class StandardCopyEngine implements CopyEngine {
  /**
   * Placeholder.
   *
   * @param device whose
   */
  public StandardCopyEngine(CoreDevice device) {}

  @Override
  public CopyRoute route(DeviceBlocks device, HostBlocks host, CopyOptions options) {
    throw io.holdfast.internal.Placeholder.here();
  }

  @Override
  public HostBlocks staged(HostMemory unpinned, BlockLayout layout) {
    throw io.holdfast.internal.Placeholder.here();
  }
}
