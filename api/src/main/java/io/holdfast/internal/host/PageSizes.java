package io.holdfast.internal.host;

/** Page sizes in the spellings of the kernel, of Kubernetes, and of people. */
final class PageSizes {
  private static final long KIB = 1L << 10;
  private static final long MIB = 1L << 20;
  private static final long GIB = 1L << 30;

  private PageSizes() {}

  /** As people write it: {@code 2 MiB}. */
  static String text(long bytes) {
    return scaled(bytes, " GiB", " MiB", " KiB");
  }

  /** As Kubernetes names the resource: {@code hugepages-2Mi}. */
  static String kubernetes(long bytes) {
    return "hugepages-" + scaled(bytes, "Gi", "Mi", "Ki");
  }

  /** As the cgroup files are named: {@code 2MB} (mm/hugetlb_cgroup.c, mem_fmt). */
  static String cgroup(long bytes) {
    if (bytes >= GIB) {
      return bytes / GIB + "GB";
    }
    return bytes >= MIB ? bytes / MIB + "MB" : bytes / KIB + "KB";
  }

  /** As sysfs names the folder: {@code hugepages-2048kB}. */
  static String folder(long bytes) {
    return "hugepages-" + bytes / KIB + "kB";
  }

  /** As Kubernetes writes an amount: {@code 232Mi}. */
  static String quantity(long bytes) {
    return bytes % KIB == 0 ? scaled(bytes, "Gi", "Mi", "Ki") : Long.toString(bytes);
  }

  private static String scaled(long bytes, String gib, String mib, String kib) {
    if (bytes % GIB == 0) {
      return bytes / GIB + gib;
    }
    return bytes % MIB == 0 ? bytes / MIB + mib : bytes / KIB + kib;
  }
}
