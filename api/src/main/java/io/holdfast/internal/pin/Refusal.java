package io.holdfast.internal.pin;

import io.holdfast.error.DriverException;
import io.holdfast.error.DriverFault;
import io.holdfast.error.HoldfastException;
import io.holdfast.internal.core.CoreDevice;
import io.holdfast.pin.PinException;
import io.holdfast.spi.HostKernel;
import java.lang.foreign.MemorySegment;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Says why the driver refused a range, with the numbers around it. */
final class Refusal {
  private static final Pattern AVAILABLE = Pattern.compile("(?m)^MemAvailable:\\s+(\\d{1,15}) kB");
  private static final Pattern MAPPING = Pattern.compile("([0-9a-f]{1,16})-([0-9a-f]{1,16}) .*");

  private Refusal() {}

  static PinException of(
      CoreDevice device,
      MemorySegment range,
      long offsetBytes,
      long totalBytes,
      long pinnedBytes,
      DriverException answer) {
    if (answer.fault() == DriverFault.ALREADY_REGISTERED) {
      return new PinException(
          PinException.Reason.REGISTERED_BY_OTHERS,
          offsetBytes,
          range.byteSize(),
          Optional.empty(),
          String.format(
              Locale.ROOT,
              "%s; a part of the %d bytes at 0x%x was registered by somebody else in this process",
              answer.getMessage(),
              range.byteSize(),
              range.address()),
          "Let its owner unregister it; Holdfast never unregisters what it has not registered",
          answer);
    }
    HostKernel kernel = device.backend().kernel();
    PinException.Surroundings around =
        new PinException.Surroundings(
            pinnedBytes, available(kernel), kernel.lockLimitBytes(), free(device));
    return new PinException(
        PinException.Reason.DRIVER_REFUSED,
        offsetBytes,
        range.byteSize(),
        Optional.of(around),
        what(range, offsetBytes, totalBytes, answer, around) + mapping(kernel, range, answer),
        remedy(answer, around),
        answer);
  }

  private static String what(
      MemorySegment range,
      long offset,
      long total,
      DriverException answer,
      PinException.Surroundings around) {
    return String.format(
        Locale.ROOT,
        "%s for %d bytes of host memory at 0x%x, offset %d of %d; this process has pinned %d"
            + " bytes, the host has %s available, the limit of locked memory is %s, the device has"
            + " %s free",
        answer.getMessage(),
        range.byteSize(),
        range.address(),
        offset,
        total,
        around.pinnedBytes(),
        bytes(around.hostAvailableBytes(), "an unknown amount"),
        bytes(around.lockLimitBytes(), "unlimited"),
        bytes(around.deviceFreeBytes(), "an unknown amount"));
  }

  private static String bytes(OptionalLong known, String otherwise) {
    return known.isPresent() ? known.getAsLong() + " bytes" : otherwise;
  }

  private static String remedy(DriverException answer, PinException.Surroundings around) {
    return answer.fault() == DriverFault.OUT_OF_MEMORY
        ? "This is about host memory and driver tables: pin less, or take smaller ranges with"
            + " PinRequest.sliceBytes"
            + (around.lockLimitBytes().isPresent() ? ", or raise the memlock limit" : "")
        : answer.remedy();
  }

  private static OptionalLong available(HostKernel kernel) {
    Matcher found = AVAILABLE.matcher(kernel.text("/proc/meminfo").orElse(""));
    return found.find()
        ? OptionalLong.of(Long.parseLong(found.group(1)) << 10)
        : OptionalLong.empty();
  }

  private static OptionalLong free(CoreDevice device) {
    try {
      return OptionalLong.of(device.port().memoryInfo().freeBytes());
    } catch (HoldfastException _) {
      return OptionalLong.empty(); // the refusal itself is what counts
    }
  }

  /** What the kernel says of a mapping that a driver calls invalid. */
  private static String mapping(HostKernel kernel, MemorySegment range, DriverException answer) {
    if (answer.fault() != DriverFault.INVALID_ARGUMENT) {
      return "";
    }
    boolean inside = false;
    for (String line : kernel.text("/proc/self/smaps").orElse("").lines().toList()) {
      Matcher header = MAPPING.matcher(line);
      if (header.matches()) {
        inside =
            Long.compareUnsigned(Long.parseUnsignedLong(header.group(1), 16), range.address()) <= 0
                && Long.compareUnsigned(
                        Long.parseUnsignedLong(header.group(2), 16), range.address())
                    > 0;
        if (inside && line.substring(header.end(2)).startsWith(" r--")) {
          return "; the mapping is read-only";
        }
      } else if (inside && line.startsWith("VmFlags:")) {
        String flags = line.substring("VmFlags:".length()) + " ";
        if (flags.contains(" pf ") || flags.contains(" io ")) {
          return "; the mapping is a device's own (VmFlags" + flags.stripTrailing() + ")";
        }
        return "";
      }
    }
    return "";
  }
}
