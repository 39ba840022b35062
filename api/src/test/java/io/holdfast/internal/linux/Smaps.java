package io.holdfast.internal.linux;

import io.holdfast.spi.HostKernel;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;

/** What /proc/self/smaps says of the mapping that holds a segment's first byte. */
final class Smaps {
  private Smaps() {}

  static List<String> flags(HostKernel kernel, MemorySegment memory) {
    return Arrays.asList(field(kernel, memory, "VmFlags").split(" ", -1));
  }

  static String field(HostKernel kernel, MemorySegment memory, String name) {
    boolean inside = false;
    for (String line : kernel.text("/proc/self/smaps").orElseThrow().split("\n", -1)) {
      int dash = line.indexOf('-');
      int space = line.indexOf(' ');
      if (dash > 0 && dash < space && line.indexOf(':') > space) {
        long from = Long.parseUnsignedLong(line.substring(0, dash), 16);
        long to = Long.parseUnsignedLong(line.substring(dash + 1, space), 16);
        inside = from <= memory.address() && memory.address() < to;
      } else if (inside && line.startsWith(name + ":")) {
        return line.substring(name.length() + 1).strip();
      }
    }
    throw new AssertionError("No field " + name + " for 0x" + Long.toHexString(memory.address()));
  }
}
