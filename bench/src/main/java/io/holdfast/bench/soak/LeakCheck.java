package io.holdfast.bench.soak;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What the kernel knows of this process that a close must bring back: HugeTLB bytes, memory files
 * that are open, and the pool's own mapping. Where there is no procfs nothing is claimed.
 */
final class LeakCheck {
  private static final Pattern HUGETLB =
      Pattern.compile("^(?:Private|Shared)_Hugetlb:\\s*([0-9]+) kB$", Pattern.MULTILINE);

  private final long hugeTlbKib = hugeTlbKib();
  private final Map<String, Integer> files = memoryFiles();

  /** What is there now and was not there when this was made, and the mapping if it still stands. */
  List<String> leaks(long mappingAddress, long mappedBytes) {
    List<String> leaks = new ArrayList<>();
    long now = hugeTlbKib();
    if (now > hugeTlbKib) {
      leaks.add((now - hugeTlbKib) + " KiB of HugeTLB pages are still mapped");
    }
    memoryFiles()
        .forEach(
            (file, count) -> {
              if (count > files.getOrDefault(file, 0)) {
                leaks.add("the memory file " + file + " is still open");
              }
            });
    if (isMapped(mappingAddress, mappingAddress + mappedBytes)) {
      leaks.add("the pool's mapping of " + mappedBytes + " bytes still stands");
    }
    return leaks;
  }

  private static long hugeTlbKib() {
    long sum = 0;
    Matcher lines = HUGETLB.matcher(text("/proc/self/smaps_rollup"));
    while (lines.find()) {
      sum += Long.parseLong(lines.group(1));
    }
    return sum;
  }

  /** Exactly these bounds: another mapping that came later at the same place is no leak. */
  private static boolean isMapped(long from, long to) {
    String bounds = Long.toHexString(from) + "-" + Long.toHexString(to) + " ";
    return text("/proc/self/maps").lines().anyMatch(line -> line.startsWith(bounds));
  }

  private static Map<String, Integer> memoryFiles() {
    Map<String, Integer> found = new TreeMap<>();
    try (DirectoryStream<Path> links = Files.newDirectoryStream(Path.of("/proc/self/fd"))) {
      for (Path link : links) {
        String target = target(link);
        if (target.startsWith("/memfd:") || target.contains("holdfast-")) {
          found.merge(target, 1, Integer::sum);
        }
      }
    } catch (IOException _) { // no procfs: nothing is claimed
      return Map.of();
    }
    return found;
  }

  private static String target(Path link) {
    try {
      return Files.readSymbolicLink(link).toString();
    } catch (IOException _) { // closed meanwhile
      return "";
    }
  }

  private static String text(String file) {
    try {
      return Files.readString(Path.of(file));
    } catch (IOException _) { // no procfs: nothing is claimed
      return "";
    }
  }
}
