package io.holdfast.bench.doctor;

import io.holdfast.Backend;
import io.holdfast.BackendKind;
import io.holdfast.Device;
import io.holdfast.bench.tool.ByteCount;
import io.holdfast.error.HoldfastException;
import io.holdfast.host.HostRegion;
import io.holdfast.host.HostRequest;
import io.holdfast.host.PageKind;
import io.holdfast.pin.PinRequest;
import io.holdfast.pin.PinnedRegion;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;

/**
 * How fast a little memory came and was pinned here, now.
 *
 * @param bytes how much
 * @param pages of what
 * @param populateBytesPerSecond while every page was made
 * @param registerBytesPerSecond by the driver; empty without hardware
 * @param notes why something was not measured
 */
record Measurement(
    long bytes,
    String pages,
    double populateBytesPerSecond,
    OptionalDouble registerBytesPerSecond,
    List<String> notes) {
  // A pool's first pages come faster than its last, and a driver's first call slower: enough of
  // both.
  private static final long BYTES = 256L << 20;

  /** Maps, populates and pins a little, and gives it back. */
  static Measurement of(Backend backend, PageKind wanted) {
    List<String> notes = new ArrayList<>();
    PageKind pages = wanted;
    HostRequest request = HostRequest.ofBytes(BYTES).pages(pages);
    try {
      if (backend.pageSource().check(request).isPresent()) {
        notes.add(
            "measured on base pages: there are no "
                + ByteCount.describe(BYTES)
                + " on "
                + wanted.describe()
                + " to measure with");
        pages = PageKind.base();
      }
    } catch (HoldfastException cannot) {
      notes.add("measured on base pages: " + cannot.getMessage());
      pages = PageKind.base();
    }
    try (HostRegion region = backend.pageSource().map(HostRequest.ofBytes(BYTES).pages(pages))) {
      double seconds = Math.max(1e-9, region.receipt().populate().toNanos() / 1e9);
      return new Measurement(
          region.mappedBytes(),
          pages.describe(),
          region.mappedBytes() / seconds,
          pinned(backend, region, notes),
          notes);
    } catch (HoldfastException refused) {
      notes.add("not measured: " + refused.getMessage());
      return new Measurement(0, pages.describe(), 0, OptionalDouble.empty(), notes);
    }
  }

  private static OptionalDouble pinned(Backend backend, HostRegion region, List<String> notes) {
    if (backend.kind() == BackendKind.SIMULATOR || backend.devices().isEmpty()) {
      notes.add(
          "registering was not measured: no hardware device is usable"
              + (backend.id().contains(":") ? "; these are a simulated host's speeds" : ""));
      return OptionalDouble.empty();
    }
    try (Device device = backend.open(backend.devices().getFirst())) {
      long begun = System.nanoTime();
      try (PinnedRegion pins = device.pinner().pin(region, PinRequest.strict())) {
        double seconds = Math.max(1, System.nanoTime() - begun) / 1e9;
        notes.add("device " + device.info().ordinal() + " pins: " + pins.receipt().pinModel());
        return OptionalDouble.of(pins.registeredBytes() / seconds);
      }
    } catch (HoldfastException refused) {
      notes.add("registering was refused: " + refused.getMessage());
      return OptionalDouble.empty();
    }
  }

  /**
   * How long all of it would take at these speeds, in seconds; empty where nothing was measured.
   */
  OptionalDouble startSeconds(long totalBytes) {
    if (populateBytesPerSecond <= 0) {
      return OptionalDouble.empty();
    }
    // Registering runs behind populating, so that the slower one decides.
    double slower =
        Math.min(populateBytesPerSecond, registerBytesPerSecond.orElse(Double.MAX_VALUE));
    return OptionalDouble.of(totalBytes / slower);
  }
}
