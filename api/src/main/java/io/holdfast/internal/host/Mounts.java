package io.holdfast.internal.host;

import io.holdfast.spi.HostKernel;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The mounts that this process sees.
 *
 * @param all in the order they were made
 */
record Mounts(List<Mount> all) {
  Mounts {
    all = List.copyOf(all);
  }

  /** Reads them anew. */
  static Mounts of(HostKernel kernel) {
    List<Mount> mounts = new ArrayList<>();
    kernel
        .text("/proc/self/mountinfo")
        .ifPresent(text -> text.lines().forEach(line -> Mount.parse(line).ifPresent(mounts::add)));
    return new Mounts(mounts);
  }

  /** The newest mount of a device, by the number that fstat gives. */
  Optional<Mount> ofDevice(long device) {
    // How the kernel packs major and minor into the number (linux/kdev_t.h, new_encode_dev).
    long major = (device >> 8) & 0xfff;
    long minor = (device & 0xff) | ((device >> 12) & 0xfff00);
    String wanted = major + ":" + minor;
    return all.reversed().stream().filter(mount -> mount.device.equals(wanted)).findFirst();
  }

  /**
   * One mount.
   *
   * @param device major and minor number
   * @param root which part of the file system
   * @param point where it is
   * @param type of the file system
   * @param options of the mount and of the file system
   */
  record Mount(String device, String root, String point, String type, List<String> options) {
    /** Reads one line of mountinfo (proc(5)). */
    static Optional<Mount> parse(String line) {
      int dash = line.indexOf(" - ");
      if (dash < 0) {
        return Optional.empty();
      }
      String[] before = line.substring(0, dash).split(" ", -1);
      String[] behind = line.substring(dash + 3).split(" ", -1);
      if (before.length < 6 || behind.length < 1) {
        return Optional.empty();
      }
      List<String> options = new ArrayList<>(List.of(before[5].split(",", -1)));
      if (behind.length > 2) {
        options.addAll(List.of(behind[2].split(",", -1)));
      }
      return Optional.of(
          new Mount(before[2], plain(before[3]), plain(before[4]), behind[0], options));
    }

    /** What an option of the form NAME=VALUE is set to. */
    Optional<String> option(String name) {
      return options.stream()
          .filter(option -> option.startsWith(name + "="))
          .map(option -> option.substring(name.length() + 1))
          .findFirst();
    }

    // Blank, tab, newline and backslash are written as a backslash and three octal digits.
    private static String plain(String escaped) {
      StringBuilder plain = new StringBuilder();
      for (int at = 0; at < escaped.length(); at++) {
        char letter = escaped.charAt(at);
        if (letter == '\\' && escaped.substring(at + 1).matches("(?s)[0-3][0-7]{2}.*")) {
          plain.append((char) Integer.parseInt(escaped.substring(at + 1, at + 4), 8));
          at += 3;
        } else {
          plain.append(letter);
        }
      }
      return plain.toString();
    }
  }
}
