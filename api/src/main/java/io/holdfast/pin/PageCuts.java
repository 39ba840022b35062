package io.holdfast.pin;

/**
 * What registering in equal runs of pages does to blocks, for comparison with a plan.
 *
 * @param stepBytes bytes of every registration but the last: the whole pages within the cap
 * @param registrations how many registrations cover the region
 * @param straddlingBlocks how many of the cuts go through a block; a block larger than a step
 *     counts once for each cut inside it
 */
public record PageCuts(long stepBytes, long registrations, long straddlingBlocks) {
  static PageCuts of(PlanGeometry geometry, LegalCuts cuts) {
    long step = geometry.capPageBytes();
    long straddling = 0;
    for (int plane = 0; plane < cuts.planes(); plane++) {
      straddling +=
          multiplesInside(cuts.start(plane), cuts.end(plane), step)
              - boundariesOnMultiples(cuts, plane, step);
    }
    return new PageCuts(step, Math.ceilDiv(geometry.mappedBytes(), step), straddling);
  }

  /** Multiples of a step strictly between two offsets. */
  private static long multiplesInside(long from, long to, long step) {
    return (to - 1) / step - from / step;
  }

  /** How many of a plane's inner block boundaries are multiples of a step. */
  private static long boundariesOnMultiples(LegalCuts cuts, int plane, long step) {
    long stride = cuts.stride(plane);
    long last = cuts.blocks(plane) - 1;
    long first = Residues.firstMultiple(cuts.start(plane), stride, step);
    if (first == Residues.NONE || first > last) {
      return 0;
    }
    long period = step / Residues.gcd(stride, step);
    long all = (last - first) / period + 1;
    return first == 0 ? all - 1 : all;
  }
}
