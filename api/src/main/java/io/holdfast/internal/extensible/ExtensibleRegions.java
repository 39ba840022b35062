package io.holdfast.internal.extensible;

import io.holdfast.device.*;
import io.holdfast.internal.core.CoreDevice;

/** Placeholder. */
public final class ExtensibleRegions {
  private ExtensibleRegions() {}

  /**
   * Placeholder.
   *
   * @param device whose
   * @param request what
   * @return region
   */
  public static ExtensibleRegion reserve(CoreDevice device, ExtensibleRequest request) {
    return io.holdfast.internal.Placeholder.value();
  }

  /**
   * Placeholder.
   *
   * @param device whose
   * @param request what
   * @return bytes
   */
  public static long granuleBytes(CoreDevice device, ExtensibleRequest request) {
    return io.holdfast.internal.Placeholder.value();
  }

  /**
   * Placeholder.
   *
   * @param device whose
   * @return support
   */
  public static Support support(CoreDevice device) {
    return io.holdfast.internal.Placeholder.value();
  }

  /**
   * Placeholder.
   *
   * @param device whose
   * @param descriptor which
   * @return region
   */
  public static ImportedRegion importRegion(CoreDevice device, RegionDescriptor descriptor) {
    return io.holdfast.internal.Placeholder.value();
  }
}
