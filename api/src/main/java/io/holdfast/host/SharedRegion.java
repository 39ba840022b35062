package io.holdfast.host;

/** A region that ranks share. Its name is gone from the directory once all have joined. */
public interface SharedRegion extends HostRegion {
  /**
   * My rank.
   *
   * @return 0 to {@link #ranks()} - 1
   */
  int rank();

  /**
   * How many share it.
   *
   * @return ranks
   */
  int ranks();

  /**
   * My own slice, populated by me.
   *
   * @return the slice
   */
  HostMemory mine();

  /**
   * A peer's slice; waits while that rank populates it.
   *
   * @param rank whose
   * @return the slice
   * @throws SharingException when the rank gave up, or populated nothing for the request's patience
   */
  HostMemory of(int rank);
}
