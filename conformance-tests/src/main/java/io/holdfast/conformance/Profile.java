package io.holdfast.conformance;

/**
 * Groups of rules that a backend keeps as a whole.
 *
 * <p>{@link #CORE} has no skips. Of the others a backend claims what its devices and its host can
 * do; rules about what is not claimed are judged the other way round: it must be refused with the
 * typed error, and nothing may change.
 */
public enum Profile {
  /** Map, pin, copy, close: what every backend does on base pages and one device. */
  CORE("map, pin, copy and close on base pages and one device"),
  /** The kernel's reserved huge pages. */
  HUGETLB("the kernel's reserved huge pages"),
  /** Placement on nodes. */
  NUMA("placement on nodes"),
  /** Many copies in one driver call. */
  BATCH("many copies in one driver call"),
  /** Copies by the device's own cores. */
  KERNEL("copies by the device's own cores"),
  /** Streams, events, contexts and captures of engines. */
  STREAMS("streams, events, contexts and captures of engines"),
  /** Device memory that grows in place. */
  VMM("device memory that grows in place"),
  /** Device memory that others import. */
  EXPORT("device memory that others import"),
  /** Several processes on one host. */
  MULTIPROCESS("several processes on one host"),
  /** What happens when calls fail: the kit stands between policy and ports and makes them fail. */
  SIMULATION("what happens when calls fail, provoked by the kit");

  private final String about;

  Profile(String about) {
    this.about = about;
  }

  /**
   * What it is about.
   *
   * @return a few words
   */
  public String about() {
    return about;
  }
}
