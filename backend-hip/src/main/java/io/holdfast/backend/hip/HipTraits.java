package io.holdfast.backend.hip;

import io.holdfast.spi.Traits;
import io.holdfast.spi.Traits.RegistrationBound;
import java.util.List;

/** What the runtime differs in, for the core to obey. */
final class HipTraits {
  /**
   * Most bytes of one registration: single ones of 256 GiB fail on MI325X and of 512 GiB on MI355X
   * (ROCm 7.2.3, vllm 52656). A quarter of the smallest that failed costs nothing: each
   * registration is followed by a notifier of its own anyway.
   */
  static final long BYTES_PER_CALL = 64L << 30;

  /** The largest total that is reported to work on every device. */
  static final long WARN_ABOVE_BYTES = 128L << 30;

  /** Said with a refused registration. */
  static final String ONE_CODE_FOR_ALL =
      "; the runtime gives this code for holes and protections, for a lack of memory and for its"
          + " own limits alike, and its vendor advises against very large registrations"
          + " (rocm-systems 11670)";

  private static final List<RegistrationBound> BOUNDS =
      List.of(
          new RegistrationBound(
              "hip-64gib",
              BYTES_PER_CALL,
              "very large registrations fail on this runtime, and its vendor advises against"
                  + " them"));

  private HipTraits() {}

  /**
   * The traits of a device.
   *
   * @param version the runtime's
   * @param alias whether the device's addresses of host memory can differ
   */
  static Traits of(HipVersion version, Traits.Alias alias) {
    return new Traits(
        Traits.PinModel.NOTIFIER,
        BOUNDS,
        Long.MAX_VALUE,
        WARN_ABOVE_BYTES,
        alias,
        version.quirks());
  }
}
