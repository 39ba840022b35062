package io.holdfast.backend.cpusim.driver;

/**
 * What the driver can learn of host pages: the kernel's side of pinning and of device access. Safe
 * from any thread; called without the driver's lock.
 */
public interface HostSpace {
  /**
   * The operating system's page.
   *
   * @return bytes, a power of two
   */
  long basePageBytes();

  /**
   * The page that backs an address.
   *
   * @param address a host address
   * @return bytes, a power of two
   */
  long backingPageBytes(long address);

  /**
   * What stands in the way of pinning a range.
   *
   * @param address first byte
   * @param bytes how many, positive
   * @return the finding; what cannot be learned counts as {@link Finding#WRITABLE}
   */
  Finding inspect(long address, long bytes);

  /**
   * A device is about to read or write host memory; pages that are not there yet are made.
   *
   * @param address first byte
   * @param bytes how many, positive
   * @return false where the kernel cannot make them, so that the device faults
   */
  boolean touch(long address, long bytes);

  /**
   * Takes pages for the driver's own host allocations.
   *
   * @param bytes how many, positive
   * @return false where there are not enough
   */
  boolean takePages(long bytes);

  /**
   * Gives pages of {@link #takePages} back.
   *
   * @param bytes how many
   */
  void givePages(long bytes);

  /** What a range is. */
  enum Finding {
    /** Mapped, readable and writable throughout. */
    WRITABLE,
    /** Mapped and readable throughout, not writable somewhere. */
    READ_ONLY,
    /** Not mapped, or not readable, somewhere. */
    HOLE,
    /** Another driver's pages somewhere, which cannot be pinned. */
    SPECIAL
  }

  /**
   * A space of which nothing can be learned: every range is good.
   *
   * @param pageBytes the page to assume
   * @return the space
   */
  static HostSpace unknown(long pageBytes) {
    return new UnknownHostSpace(pageBytes);
  }
}
