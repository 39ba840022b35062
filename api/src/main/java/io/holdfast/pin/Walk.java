package io.holdfast.pin;

/**
 * A walk over the planned cuts of a region that goes over each regular run of cuts in one step.
 *
 * <p>From a legal cut inside a plane the plan repeats itself every unit or every whole number of
 * units, as long as all that a decision looks at lies inside the plane; from a page boundary in a
 * gap it repeats every slice. So a walk over the whole region takes a few steps per plane, however
 * many cuts there are. Not for several threads.
 */
final class Walk {
  private final LegalCuts cuts;
  private final long sliceBytes;
  private final long capBytes;
  private final long capPageBytes;

  private long at;
  private long registrations;
  private long straddling;
  private long longestBytes;

  /**
   * Starts at offset 0. Where the slice equals the cap and every stretch fits the cap, the walk is
   * that of the policy which never cuts inside a block.
   */
  Walk(LegalCuts cuts, long sliceBytes, long capBytes) {
    this.cuts = cuts;
    this.sliceBytes = sliceBytes;
    this.capBytes = capBytes;
    this.capPageBytes = capBytes & -cuts.pageBytes();
  }

  /** The end of the last range walked over. */
  long at() {
    return at;
  }

  long registrations() {
    return registrations;
  }

  long straddling() {
    return straddling;
  }

  long longestBytes() {
    return longestBytes;
  }

  /** Walks to the region's end. */
  void toEnd() {
    while (at < cuts.mappedBytes()) {
      long legal = cuts.above(at);
      if (endsHere()) {
        go(1, cuts.mappedBytes() - at);
      } else if (legal - at > capBytes) {
        overPageCuts(legal);
      } else {
        overLegalCuts(legal);
      }
    }
  }

  /** Walks to the next cut inside a block, or to the region's end: false. */
  boolean toNextStraddling() {
    while (at < cuts.mappedBytes()) {
      long legal = cuts.above(at);
      if (endsHere()) {
        go(1, cuts.mappedBytes() - at);
      } else if (legal - at > capBytes) {
        go(1, capPageBytes);
        straddling++;
        return true;
      } else {
        overLegalCuts(legal);
      }
    }
    return false;
  }

  private boolean endsHere() {
    return cuts.mappedBytes() - at <= sliceBytes;
  }

  /** The next legal cut is further than the cap: page cuts up to where it is not. */
  private void overPageCuts(long legal) {
    int plane = cuts.planeAt(at);
    if (plane >= 0 && cuts.inProgression(plane, at)) {
      // A whole unit is more than the cap, so from each legal cut the same page cuts lead to the
      // next; true while the last decision looks no further than the plane.
      long unit = cuts.unit(plane);
      long units = (cuts.end(plane) - 1 - sliceBytes - at) / unit;
      if (units > 0) {
        long pageCuts = pageCutsBefore(unit);
        registrations += units * (pageCuts + 1);
        straddling += units * pageCuts;
        longestBytes = Math.max(longestBytes, capPageBytes);
        at += units * unit;
        return;
      }
    }
    long pageCuts = pageCutsBefore(legal - at);
    straddling += pageCuts;
    go(pageCuts, capPageBytes);
  }

  /** How many page cuts it takes until that distance is within the cap. */
  private long pageCutsBefore(long distance) {
    return Math.ceilDiv(distance - capBytes, capPageBytes);
  }

  /** The next legal cut is within the cap: one range, or all that repeat it. */
  private void overLegalCuts(long legal) {
    int plane = cuts.planeAt(at);
    boolean inPlane = plane >= 0 && at < cuts.end(plane);
    boolean regular = !inPlane || cuts.inProgression(plane, at);
    long unit = inPlane ? cuts.unit(plane) : cuts.pageBytes();
    // The last offset up to which only this plane or gap decides.
    long border = inPlane ? cuts.end(plane) - 1 : cuts.gapEnd(plane);
    long room = border - at;
    if (legal - at > sliceBytes) {
      // None within the slice: the first one behind it.
      long units = regular && inPlane ? room / unit : 0;
      go(Math.max(1, units), legal - at);
    } else if (regular && room >= sliceBytes) {
      long step = sliceBytes / unit * unit;
      go((room - sliceBytes) / step + 1, step);
    } else {
      go(1, cuts.atOrBelow(at + sliceBytes) - at);
    }
  }

  private void go(long ranges, long bytesEach) {
    registrations += ranges;
    longestBytes = Math.max(longestBytes, bytesEach);
    at += ranges * bytesEach;
  }
}
