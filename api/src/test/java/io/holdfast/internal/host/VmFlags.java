package io.holdfast.internal.host;

import io.holdfast.spi.HostKernel;
import java.lang.foreign.MemorySegment;
import java.util.List;

/** The flags in smaps of the mapping that holds a segment's first byte. */
final class VmFlags {
  private VmFlags() {}

  static List<String> of(HostKernel kernel, MemorySegment memory) {
    boolean inside = false;
    for (String line : kernel.text("/proc/self/smaps").orElseThrow().lines().toList()) {
      int dash = line.indexOf('-');
      int space = line.indexOf(' ');
      if (dash > 0 && dash < space && line.indexOf(':') > space) {
        long from = Long.parseUnsignedLong(line, 0, dash, 16);
        long to = Long.parseUnsignedLong(line, dash + 1, space, 16);
        inside = from <= memory.address() && memory.address() < to;
      } else if (inside && line.startsWith("VmFlags:")) {
        return List.of(line.substring("VmFlags:".length()).strip().split(" ", -1));
      }
    }
    throw new AssertionError("no mapping at 0x" + Long.toHexString(memory.address()));
  }
}
