package io.holdfast.conformance.vm;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What {@code numa_maps} and {@code smaps} say of one mapping, read without the library that is
 * judged.
 *
 * @param policy for example {@code bind:1}
 * @param bytesPerNode by node
 * @param bytesPerPageSize by page size, transparent huge pages apart
 */
record KernelsWord(
    String policy, Map<Integer, Long> bytesPerNode, Map<Long, Long> bytesPerPageSize) {
  private static final long THP_BYTES = 2 << 20;
  private static final Pattern NODE = Pattern.compile(" N(\\d+)=(\\d+)");
  private static final Pattern PAGE = Pattern.compile(" kernelpagesize_kB=(\\d+)");
  private static final Pattern POLICY =
      Pattern.compile("^[0-9a-f]+ (.*?) (?:file=|anon=|heap|stack|huge|dirty=|mapped=)");

  /** About the mapping that a view begins in. */
  static KernelsWord of(MemorySegment view) {
    String start = Long.toHexString(view.address());
    List<String> found =
        lines("/proc/self/numa_maps").stream()
            .filter(line -> line.startsWith(start + " "))
            .toList();
    if (found.size() != 1) {
      throw new AssertionError("numa_maps has no line of its own for " + start);
    }
    String line = found.getFirst();
    long page = Long.parseLong(group(PAGE, line)) << 10;
    Map<Integer, Long> nodes = new TreeMap<>();
    Matcher node = NODE.matcher(line);
    while (node.find()) {
      nodes.put(Integer.parseInt(node.group(1)), Long.parseLong(node.group(2)) * page);
    }
    return new KernelsWord(group(POLICY, line), nodes, pageSizes(start));
  }

  private static Map<Long, Long> pageSizes(String start) {
    Map<String, Long> counts = new TreeMap<>();
    boolean inside = false;
    for (String line : lines("/proc/self/smaps")) {
      if (line.matches("[0-9a-f]+-[0-9a-f]+ .*")) {
        inside = line.startsWith(start + "-");
      } else if (inside && line.endsWith(" kB")) {
        int colon = line.indexOf(':');
        counts.put(
            line.substring(0, colon),
            Long.parseLong(line.substring(colon + 1, line.length() - 3).strip()) << 10);
      }
    }
    long huge = counts.get("AnonHugePages") + counts.get("ShmemPmdMapped");
    // HugeTLB pages are in counters of their own.
    long present = counts.get("Rss") + counts.get("Private_Hugetlb") + counts.get("Shared_Hugetlb");
    Map<Long, Long> sizes = new TreeMap<>();
    if (huge > 0) {
      sizes.put(THP_BYTES, huge);
    }
    if (present > huge) {
      sizes.put(counts.get("KernelPageSize"), present - huge);
    }
    return sizes;
  }

  private static String group(Pattern pattern, String line) {
    Matcher matcher = pattern.matcher(line);
    if (!matcher.find()) {
      throw new AssertionError(pattern + " is not in: " + line);
    }
    return matcher.group(1);
  }

  private static List<String> lines(String path) {
    try {
      return Files.readAllLines(Path.of(path));
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    }
  }
}
