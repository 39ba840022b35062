package io.holdfast.internal.core;

import io.holdfast.copy.CopyEngine;
import io.holdfast.device.DeviceMemory;
import io.holdfast.host.PageSource;
import io.holdfast.internal.copy.StandardCopyEngine;
import io.holdfast.internal.host.StandardPageSource;
import io.holdfast.internal.pin.StandardPinner;
import io.holdfast.pin.Pinner;
import java.util.function.UnaryOperator;

/**
 * Where policy comes from, and where a vendor may wrap or replace it.
 *
 * @param wrapPageSource applied to the standard page source
 * @param wrapPinner applied to each device's standard pinner
 * @param wrapCopyEngine applied to each device's standard copy engine
 */
public record Rooms(
    UnaryOperator<PageSource> wrapPageSource,
    UnaryOperator<Pinner> wrapPinner,
    UnaryOperator<CopyEngine> wrapCopyEngine) {
  /**
   * Nothing wrapped.
   *
   * @return the standard rooms
   */
  public static Rooms standard() {
    return new Rooms(UnaryOperator.identity(), UnaryOperator.identity(), UnaryOperator.identity());
  }

  PageSource pageSource(CoreBackend backend) {
    return wrapPageSource.apply(new StandardPageSource(backend));
  }

  DeviceMemory memory(CoreDevice device) {
    return new CoreMemory(device);
  }

  Pinner pinner(CoreDevice device) {
    return wrapPinner.apply(new StandardPinner(device));
  }

  CopyEngine copyEngine(CoreDevice device) {
    return wrapCopyEngine.apply(new StandardCopyEngine(device));
  }
}
