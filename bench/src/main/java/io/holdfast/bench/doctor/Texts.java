package io.holdfast.bench.doctor;

/** Page sizes in the spellings of people, the kernel's command line and Kubernetes. */
final class Texts {
  private Texts() {}

  /** {@code 2 MiB}. */
  static String pages(long bytes) {
    return scaled(bytes, " GiB", " MiB", " KiB");
  }

  /** {@code 2M}, as hugepagesz= takes it. */
  static String kernel(long bytes) {
    return scaled(bytes, "G", "M", "K");
  }

  /** {@code 2Mi}, as Kubernetes writes quantities. */
  static String quantity(long bytes) {
    return bytes % 1024 == 0 ? scaled(bytes, "Gi", "Mi", "Ki") : Long.toString(bytes);
  }

  private static String scaled(long bytes, String gib, String mib, String kib) {
    if (bytes % (1L << 30) == 0) {
      return (bytes >> 30) + gib;
    }
    return bytes % (1L << 20) == 0 ? (bytes >> 20) + mib : (bytes >> 10) + kib;
  }
}
