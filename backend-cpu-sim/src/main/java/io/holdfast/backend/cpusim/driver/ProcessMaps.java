package io.holdfast.backend.cpusim.driver;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/**
 * This process's own mappings as Linux lists them, so that holes and protections are refused as a
 * driver refuses them. Where there is no such list every range is good.
 */
public final class ProcessMaps implements HostSpace {
  private static final Path MAPS = Path.of("/proc/self/maps");

  private final long basePageBytes;

  /**
   * Over this process.
   *
   * @param basePageBytes the operating system's page
   */
  public ProcessMaps(long basePageBytes) {
    this.basePageBytes = basePageBytes;
  }

  @Override
  public long basePageBytes() {
    return basePageBytes;
  }

  @Override
  public long backingPageBytes(long address) {
    return basePageBytes;
  }

  @Override
  public Finding inspect(long address, long bytes) {
    if (!Files.isReadable(MAPS)) {
      return Finding.WRITABLE;
    }
    Finding worst = Finding.WRITABLE;
    long covered = address;
    long end = address + bytes;
    // the kernel splits areas while we read, never behind our back within one line
    try (BufferedReader lines = Files.newBufferedReader(MAPS, StandardCharsets.ISO_8859_1)) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        int dash = line.indexOf('-');
        int space = line.indexOf(' ', dash);
        long from = Long.parseUnsignedLong(line, 0, dash, 16);
        long to = Long.parseUnsignedLong(line, dash + 1, space, 16);
        if (Long.compareUnsigned(to, covered) <= 0) {
          continue;
        }
        if (Long.compareUnsigned(from, covered) > 0) {
          return Finding.HOLE;
        }
        if (line.charAt(space + 1) != 'r') {
          return Finding.HOLE;
        }
        if (line.charAt(space + 2) != 'w') {
          worst = Finding.READ_ONLY;
        }
        covered = to;
        if (Long.compareUnsigned(covered, end) >= 0) {
          return worst;
        }
      }
      return Finding.HOLE;
    } catch (IOException | NumberFormatException unreadable) {
      System.getLogger(ProcessMaps.class.getName())
          .log(
              System.Logger.Level.DEBUG,
              () -> String.format(Locale.ROOT, "%s cannot be read: %s", MAPS, unreadable));
      return Finding.WRITABLE;
    }
  }

  @Override
  public boolean touch(long address, long bytes) {
    return true;
  }

  @Override
  public boolean takePages(long bytes) {
    return true;
  }

  @Override
  public void givePages(long bytes) {}
}
