package io.holdfast.device;

/** Placeholder. */
public final class RegionDescriptor {
  private RegionDescriptor() {}
}
