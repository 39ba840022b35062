package io.holdfast.internal.config;

import io.holdfast.host.HostRequest;
import io.holdfast.layout.BlockLayout;
import java.util.Map;

/** Placeholder. */
public final class ConfigKeys {
  private ConfigKeys() {}

  /**
   * Placeholder.
   *
   * @param c config
   * @param l layout
   * @return request
   */
  public static HostRequest hostRequest(Map<String, ?> c, BlockLayout l) {
    return java.util.Optional.<HostRequest>empty().orElseThrow();
  }
}
