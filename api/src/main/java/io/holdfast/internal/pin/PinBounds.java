package io.holdfast.internal.pin;

import io.holdfast.pin.PinRequest;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.Traits;
import io.holdfast.spi.Traits.RegistrationBound;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What one driver call may take here: the least of the known bounds that nobody told to ignore.
 *
 * @param capBytes most bytes of one call
 * @param described every bound with its reason, and those that are ignored
 */
record PinBounds(long capBytes, List<String> described) {
  /** Far below every driver limit seen in the field, and few calls even for terabytes. */
  static final RegistrationBound HOUSE =
      new RegistrationBound(
          "holdfast-256gib", 256L << 30, "driver tables of one call have overflowed above this");

  /** Long-term pins of 2 GiB and more fail on these kernels. */
  static final RegistrationBound LINUX_6_11 =
      new RegistrationBound(
          "linux-6.11-2gib",
          (1L << 31) - 1,
          "Linux 6.11 to 6.13 refuse to pin 2 GiB or more at once");

  /** Id by which the driver's limit of all registrations together is ignored. */
  static final String DRIVER_TOTAL = "driver-total";

  private static final Pattern RELEASE = Pattern.compile("(\\d{1,6})\\.(\\d{1,6}).*");

  PinBounds {
    described = List.copyOf(described);
  }

  static PinBounds of(Traits traits, HostKernel.Identity system, PinRequest request) {
    List<RegistrationBound> known = new ArrayList<>(traits.bounds());
    known.add(HOUSE);
    if (hasPinRegression(system)) {
      known.add(LINUX_6_11);
    }
    request
        .capBytes()
        .ifPresent(bytes -> known.add(new RegistrationBound("request", bytes, "asked for")));
    Set<String> unknown = new HashSet<>(request.ignoredBounds());
    unknown.remove(DRIVER_TOTAL);
    List<String> described = new ArrayList<>();
    long cap = Long.MAX_VALUE;
    for (RegistrationBound bound : known) {
      boolean ignored = request.ignoredBounds().contains(bound.id());
      unknown.remove(bound.id());
      if (!ignored) {
        cap = Math.min(cap, bound.maxBytes());
      }
      described.add(
          String.format(
              Locale.ROOT,
              "%s: at most %d bytes in one call, because %s%s",
              bound.id(),
              bound.maxBytes(),
              bound.reason(),
              ignored ? "; ignored" : ""));
    }
    unknown.stream().sorted().forEach(id -> described.add(id + ": ignored, but unknown here"));
    return new PinBounds(cap, described);
  }

  private static boolean hasPinRegression(HostKernel.Identity system) {
    Matcher release = RELEASE.matcher(system.release());
    if (!system.system().equals("Linux") || !release.matches()) {
      return false;
    }
    int minor = Integer.parseInt(release.group(2));
    return Integer.parseInt(release.group(1)) == 6 && minor >= 11 && minor <= 13;
  }

  /** Whether this is Linux under Windows, where little can be pinned in total. */
  static boolean isWsl(HostKernel.Identity system) {
    return system.release().toLowerCase(Locale.ROOT).contains("microsoft");
  }
}
