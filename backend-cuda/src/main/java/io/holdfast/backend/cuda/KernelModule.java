package io.holdfast.backend.cuda;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The version of the NVIDIA kernel module, which can be older than the library above it.
 *
 * @param version for example {@code 580.159.04}
 * @param branch its first number, for example 580
 */
record KernelModule(String version, int branch) {
  /** Where the module tells its version, without the leading slash. */
  static final String FILE = "proc/driver/nvidia/version";

  private static final Pattern VERSION =
      Pattern.compile("Kernel Module.*?\\s((\\d{3,4})\\.\\d+(?:\\.\\d+)?)\\s");

  /** Reads the module's version; empty where it is not loaded or writes another form. */
  static Optional<KernelModule> read(Surroundings around) {
    return around.text(FILE).flatMap(KernelModule::parse);
  }

  static Optional<KernelModule> parse(String text) {
    Matcher found = VERSION.matcher(text);
    return found.find()
        ? Optional.of(new KernelModule(found.group(1), Integer.parseInt(found.group(2))))
        : Optional.empty();
  }
}
