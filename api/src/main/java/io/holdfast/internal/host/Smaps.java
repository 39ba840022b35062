package io.holdfast.internal.host;

import io.holdfast.spi.HostKernel;
import java.util.OptionalLong;

/**
 * What {@code /proc/self/smaps} says about a range.
 *
 * @param found whether it says anything
 * @param isShared whether a mapping reaches beyond the range, so that its counts are an estimate
 * @param kernelPageBytes the page of its mappings
 * @param hugeBytes bytes on transparent huge pages, of memory or files
 * @param residentBytes bytes that are there, HugeTLB pages left out; empty where it does not say
 */
record Smaps(
    boolean found,
    boolean isShared,
    long kernelPageBytes,
    long hugeBytes,
    OptionalLong residentBytes) {

  static Smaps of(HostKernel kernel, long address, long bytes) {
    Scan scan = new Scan(address, address + bytes);
    kernel.lines("/proc/self/smaps", scan::line);
    return new Smaps(scan.found, scan.shared, scan.page, scan.huge, scan.resident);
  }

  private static final class Scan {
    private final long start;
    private final long end;
    private boolean inside;
    private double share;
    private boolean found;
    private boolean shared;
    private long page;
    private long huge;
    private OptionalLong resident = OptionalLong.empty();

    Scan(long start, long end) {
      this.start = start;
      this.end = end;
    }

    /** Whether there can be more: entries come in the order of their addresses. */
    boolean line(String line) {
      if (isHead(line)) {
        return head(line);
      }
      if (inside) {
        count(line);
      }
      return true;
    }

    // A head begins with the addresses in hexadecimal, the lines below it with a name.
    private static boolean isHead(String line) {
      int dash = line.indexOf('-');
      int colon = line.indexOf(':');
      return dash > 0 && (colon < 0 || dash < colon) && Character.digit(line.charAt(0), 16) >= 0;
    }

    private boolean head(String line) {
      int dash = line.indexOf('-');
      long from = Long.parseUnsignedLong(line, 0, dash, 16);
      long to = Long.parseUnsignedLong(line, dash + 1, line.indexOf(' '), 16);
      long common =
          Math.min(to, end) - Math.max(from, start); // user addresses are positive as a long
      inside = common > 0;
      if (inside) {
        found = true;
        share = (double) common / (to - from);
        shared |= from < start || to > end;
      }
      return Long.compareUnsigned(from, end) < 0;
    }

    private void count(String line) {
      int colon = line.indexOf(':');
      if (colon < 0 || !line.endsWith(" kB")) {
        return;
      }
      String name = line.substring(0, colon);
      switch (name) {
        case "Rss" ->
            resident = OptionalLong.of(resident.orElse(0) + Math.round(share * bytes(line, colon)));
        case "KernelPageSize" -> page = bytes(line, colon);
        case "AnonHugePages", "ShmemPmdMapped", "FilePmdMapped" ->
            huge += Math.round(share * bytes(line, colon));
        default -> {}
      }
    }

    private static long bytes(String line, int colon) {
      return Long.parseLong(line.substring(colon + 1, line.length() - 3).strip()) << 10;
    }
  }
}
