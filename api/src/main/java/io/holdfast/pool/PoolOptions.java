package io.holdfast.pool;

import io.holdfast.copy.CopyOptions;
import io.holdfast.layout.Arrangement;
import io.holdfast.pin.PinRequest;
import java.util.Objects;

/**
 * How a pool is made, beside its memory.
 *
 * @param arrangement of the host side
 * @param pin how to pin
 * @param copy how to copy
 */
public record PoolOptions(Arrangement arrangement, PinRequest pin, CopyOptions copy) {
  /** Checks. */
  public PoolOptions {
    Objects.requireNonNull(arrangement, "arrangement");
    Objects.requireNonNull(pin, "pin");
    Objects.requireNonNull(copy, "copy");
  }

  /**
   * Layer-major, all or nothing, automatic.
   *
   * @return the options
   */
  public static PoolOptions defaults() {
    return new PoolOptions(Arrangement.LAYER_MAJOR, PinRequest.strict(), CopyOptions.auto());
  }

  /**
   * A changed copy.
   *
   * @param host arrangement of the host side
   * @return the copy
   */
  public PoolOptions arrangement(Arrangement host) {
    return new PoolOptions(host, pin, copy);
  }

  /**
   * A changed copy.
   *
   * @param how how to pin; the pool adds its own layout as what cuts go around
   * @return the copy
   */
  public PoolOptions pin(PinRequest how) {
    return new PoolOptions(arrangement, how, copy);
  }

  /**
   * A changed copy.
   *
   * @param how how to copy
   * @return the copy
   */
  public PoolOptions copy(CopyOptions how) {
    return new PoolOptions(arrangement, pin, how);
  }
}
