package io.holdfast.pin;

/** The stretches of a region without a legal cut: the widest, and the first wider than a cap. */
final class Stretches {
  private final long capBytes;
  private long widestBytes;
  private long tooWideFrom = Residues.NONE;
  private long tooWideTo = Residues.NONE;

  Stretches(LegalCuts cuts, long capBytes) {
    this.capBytes = capBytes;
    widestBytes = cuts.pageBytes();
    for (int plane = 0; plane < cuts.planes(); plane++) {
      long first = cuts.first(plane);
      if (first == Residues.NONE) {
        see(cuts.before(plane), cuts.after(plane));
        continue;
      }
      see(cuts.before(plane), first);
      long last = cuts.last(plane);
      if (first < last) {
        see(first, first + cuts.unit(plane));
      }
      see(last, cuts.after(plane));
    }
  }

  boolean allWithinCap() {
    return widestBytes <= capBytes;
  }

  /** Bytes between the two neighbouring legal cuts that are furthest apart. */
  long widestBytes() {
    return widestBytes;
  }

  /** The legal cut behind which none lies within the cap, or {@link Residues#NONE}. */
  long tooWideFrom() {
    return tooWideFrom;
  }

  /** The next legal cut behind {@link #tooWideFrom()}. */
  long tooWideTo() {
    return tooWideTo;
  }

  private void see(long from, long to) {
    long bytes = to - from;
    widestBytes = Math.max(widestBytes, bytes);
    if (bytes > capBytes && tooWideFrom == Residues.NONE) {
      tooWideFrom = from;
      tooWideTo = to;
    }
  }
}
