package io.holdfast.host;

import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** Where host memory comes from. Safe from any thread; a virtual thread parks while it waits. */
public interface PageSource {
  /**
   * Maps and populates; returns when every page is there.
   *
   * @param request what is wanted
   * @return the region, ready
   * @throws ShortfallException names every limit that binds; nothing is left mapped
   * @throws PlacementException the kernel did something else than was required
   */
  HostRegion map(HostRequest request);

  /**
   * Maps now, populates behind; the region's readiness moves.
   *
   * @param request what is wanted
   * @return the region, mapped
   * @throws ShortfallException as far as it can be known before the first touch
   */
  HostRegion mapInBackground(HostRequest request);

  /**
   * Someone else's memory, page-exact, left to its owner.
   *
   * @param foreign native memory on whole pages
   * @return a region whose closing unmaps nothing
   * @throws IllegalArgumentException with the reason when it cannot be
   */
  HostRegion adopt(MemorySegment foreign);

  /**
   * One rank's way into memory that ranks share: the first creates, the others join.
   *
   * @param request the same in every rank
   * @param rank mine, 0 to the number of ranks - 1
   * @return the region, mapped; my own slice populated
   */
  SharedRegion share(SharedRequest request, int rank);

  /**
   * Removes shared files whose processes are provably gone.
   *
   * @param directory where
   * @return which, and by what proof
   */
  List<String> reapStale(Path directory);

  /**
   * What would be missing, without touching a page.
   *
   * @param request what is wanted
   * @return the shortfall; empty when nothing is missing
   */
  Optional<Shortfall> check(HostRequest request);

  /**
   * What the host can give now, without touching a page.
   *
   * @return nodes, pools, limits and settings
   */
  HostSurvey survey();
}
