package io.holdfast.spi;

import io.holdfast.internal.linux.LinuxHostKernel;
import io.holdfast.internal.portable.PortableHostKernel;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.Locale;

/** The host ports we ship. Each is without state of its own and serves any thread. */
public final class HostKernels {
  private HostKernels() {}

  /**
   * Opens this machine's own: Linux, or plain segments on any other operating system.
   *
   * @return the port, whose {@link HostKernel#pages()} says which it is
   * @throws io.holdfast.error.HostKernelException on Linux, where this Java runtime may not call
   *     native code
   */
  public static HostKernel system() {
    return systemWithTree(Path.of("/"));
  }

  /**
   * Opens this machine's own calls over another tree of sysfs, procfs and cgroup files, so that a
   * machine can be told from a copy of its files.
   *
   * @param root the folder that stands in for {@code /} in {@link HostKernel#text} and {@link
   *     HostKernel#names}; no other call looks there
   * @return the port
   * @throws io.holdfast.error.HostKernelException on Linux, where this Java runtime may not call
   *     native code
   */
  public static HostKernel systemWithTree(Path root) {
    return onLinux() ? LinuxHostKernel.open(root) : PortableHostKernel.over(root);
  }

  /**
   * Opens plain segments, which work on every operating system and promise nothing about pages.
   *
   * @return the port
   */
  public static HostKernel portable() {
    return PortableHostKernel.over(Path.of("/"));
  }

  // The Linux port knows 64-bit systems only.
  private static boolean onLinux() {
    return ValueLayout.ADDRESS.byteSize() == Long.BYTES
        && System.getProperty("os.name", "").toLowerCase(Locale.ROOT).startsWith("linux");
  }
}
