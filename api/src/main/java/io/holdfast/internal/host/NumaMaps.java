package io.holdfast.internal.host;

import io.holdfast.spi.HostKernel;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * What {@code /proc/self/numa_maps} says about the mapping that begins at an address.
 *
 * @param policy the policy, for example {@code bind:1}
 * @param bytesPerNode by node
 */
record NumaMaps(String policy, Map<Integer, Long> bytesPerNode) {

  static Optional<NumaMaps> of(HostKernel kernel, long address) {
    String head = Long.toHexString(address) + " ";
    AtomicReference<@Nullable String> found = new AtomicReference<>();
    kernel.lines(
        "/proc/self/numa_maps",
        line -> {
          if (line.startsWith(head)) {
            found.set(line);
          }
          return found.get() == null;
        });
    return Optional.ofNullable(found.get()).map(NumaMaps::parse);
  }

  static NumaMaps parse(String line) {
    String[] fields = line.strip().split(" ", -1);
    long pageBytes = 0;
    Map<Integer, Long> pages = new TreeMap<>();
    for (String field : fields) {
      if (field.matches("N[0-9]{1,6}=[0-9]{1,15}")) {
        int equal = field.indexOf('=');
        pages.put(
            Integer.parseInt(field.substring(1, equal)),
            Long.parseLong(field.substring(equal + 1)));
      } else if (field.matches("kernelpagesize_kB=[0-9]{1,12}")) {
        pageBytes = Long.parseLong(field.substring(field.indexOf('=') + 1)) << 10;
      }
    }
    long each = pageBytes;
    Map<Integer, Long> bytes = new TreeMap<>();
    pages.forEach((node, count) -> bytes.put(node, count * each));
    return new NumaMaps(fields.length > 1 ? fields[1] : "", bytes);
  }
}
