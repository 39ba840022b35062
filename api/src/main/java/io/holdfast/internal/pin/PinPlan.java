package io.holdfast.internal.pin;

import io.holdfast.layout.BlockLayout;
import io.holdfast.pin.PinException;
import io.holdfast.pin.PinRequest;
import io.holdfast.pin.PlanGeometry;
import io.holdfast.pin.RegistrationPlan;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.Traits;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * All that is decided before a page is touched or the driver is asked.
 *
 * @param plan the legal cuts
 * @param bounds what shaped the cap
 * @param traits of the driver, for these pages
 * @param notes warnings for the receipt
 */
record PinPlan(RegistrationPlan plan, PinBounds bounds, Traits traits, List<String> notes) {
  PinPlan {
    notes = List.copyOf(notes);
  }

  static PinPlan of(
      Traits traits, HostKernel kernel, long mappedBytes, long pageBytes, PinRequest request) {
    PinBounds bounds = PinBounds.of(traits, kernel.identity(), request);
    List<String> notes = new ArrayList<>();
    if (bounds.capBytes() < pageBytes) {
      throw new PinException(
          PinException.Reason.CAP_BELOW_PAGE,
          0,
          mappedBytes,
          Optional.empty(),
          String.format(
              Locale.ROOT,
              "one driver call may take %d bytes, one backing page has %d (%s)",
              bounds.capBytes(),
              pageBytes,
              String.join("; ", bounds.described())),
          "Use smaller pages, or ignore the bound by its id",
          null);
    }
    long slice = slice(pageBytes, request, notes);
    PlanGeometry geometry =
        new PlanGeometry(
            mappedBytes,
            pageBytes,
            bounds.capBytes(),
            slice,
            request.around().map(BlockLayout::rows).orElse(List.of()));
    RegistrationPlan plan = geometry.plan(request.cuts()).orThrow();
    switch (traits.pinModel()) {
      case COHERENT ->
          notes.add("the device reads host page tables: registered pages can still migrate");
      case NOTIFIER -> notes.add("the driver follows pages: registered pages can still move");
      case HARD -> {}
    }
    if (PinBounds.isWsl(kernel.identity())) {
      notes.add("under WSL about 1 GiB can be pinned in total");
    }
    if (plan.longestCallBytes() > Math.max(slice, pageBytes)) {
      notes.add(
          String.format(
              Locale.ROOT,
              "legal cuts lie so far apart that one driver call takes %d bytes",
              plan.longestCallBytes()));
    }
    return new PinPlan(plan, bounds, traits, notes);
  }

  private static long slice(long pageBytes, PinRequest request, List<String> notes) {
    if (request.sliceBytes().isEmpty()) {
      return PlanGeometry.DEFAULT_SLICE_BYTES;
    }
    long asked = request.sliceBytes().getAsLong();
    if (asked < pageBytes) {
      throw new IllegalArgumentException(
          "a slice of " + asked + " bytes is less than one backing page of " + pageBytes);
    }
    if (asked % pageBytes != 0) {
      notes.add(
          String.format(
              Locale.ROOT,
              "a slice of %d bytes is not whole backing pages: %d are used",
              asked,
              asked - asked % pageBytes));
    }
    return asked;
  }
}
