package io.holdfast.pin;

import io.holdfast.layout.Bytes;
import io.holdfast.layout.Plane;
import io.holdfast.pin.PlanOutcome.Alternative;
import io.holdfast.pin.PlanOutcome.Infeasible;
import io.holdfast.pin.PlanOutcome.Reason;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.LongUnaryOperator;

/** Says why a geometry has no plan, and searches for near ones that have. */
final class Infeasibility {
  /** The smallest page any supported kernel has. */
  private static final long SMALLEST_PAGE_BYTES = 4096;

  private final PlanGeometry geometry;
  private final LegalCuts cuts;

  private Infeasibility(PlanGeometry geometry, LegalCuts cuts) {
    this.geometry = geometry;
    this.cuts = cuts;
  }

  /** The reason, for a geometry in which some stretch is wider than the cap. */
  static Infeasible explain(PlanGeometry geometry, LegalCuts cuts, Stretches stretches) {
    Infeasibility search = new Infeasibility(geometry, cuts);
    int plane = search.largestPlaneWithin(stretches.tooWideFrom(), stretches.tooWideTo());
    List<Alternative> alternatives = new ArrayList<>();
    search.alignedPlanes().ifPresent(alternatives::add);
    search.smallerStride().ifPresent(alternatives::add);
    search.largerStride().ifPresent(alternatives::add);
    search.smallerPage().ifPresent(alternatives::add);
    alternatives.add(
        new Alternative(
            Alternative.Kind.CAP,
            stretches.widestBytes(),
            geometry.withCap(stretches.widestBytes())));
    return new Infeasible(
        geometry,
        search.reason(plane),
        stretches.tooWideFrom(),
        stretches.widestBytes(),
        cuts.index(plane),
        cuts.unit(plane),
        alternatives);
  }

  private int largestPlaneWithin(long from, long to) {
    int best = 0;
    long most = -1;
    for (int plane = 0; plane < cuts.planes(); plane++) {
      long bytes = Math.min(to, cuts.end(plane)) - Math.max(from, cuts.start(plane));
      if (bytes > most) {
        most = bytes;
        best = plane;
      }
    }
    return best;
  }

  private Reason reason(int plane) {
    long block = Math.min(cuts.stride(plane), cuts.end(plane) - cuts.start(plane));
    if (block > geometry.capBytes()) {
      return Reason.BLOCK_EXCEEDS_CAP;
    }
    long divisor = Residues.gcd(cuts.stride(plane), cuts.pageBytes());
    if (cuts.start(plane) % divisor != 0) {
      return Reason.PLANE_START_MISALIGNED;
    }
    return cuts.unit(plane) > geometry.capBytes() ? Reason.UNIT_EXCEEDS_CAP : Reason.EDGE_TOO_FAR;
  }

  private Optional<Alternative> alignedPlanes() {
    for (long align = 2; align > 0 && align <= cuts.pageBytes(); align <<= 1) {
      Optional<PlanGeometry> tried =
          laidAgain(stride -> stride, align).filter(Infeasibility::works);
      if (tried.isPresent()) {
        return Optional.of(new Alternative(Alternative.Kind.PLANE_ALIGNMENT, align, tried.get()));
      }
    }
    return Optional.empty();
  }

  private Optional<Alternative> largerStride() {
    for (long multiple = 2; multiple > 0 && multiple <= cuts.pageBytes(); multiple <<= 1) {
      long unit = multiple;
      Optional<PlanGeometry> tried =
          laidAgain(stride -> Math.ceilDiv(stride, unit) * unit, unit)
              .filter(this::changesStrides)
              .filter(Infeasibility::works);
      if (tried.isPresent()) {
        return tried.map(found -> strideAlternative(Alternative.Kind.LARGER_STRIDE, found));
      }
    }
    return Optional.empty();
  }

  /**
   * Rounds strides down to multiples of each power of two, few enough of them to keep the unit
   * within the cap, and for a plane alone also to what fits one registration as a whole; the
   * largest that works is the nearest.
   */
  private Optional<Alternative> smallerStride() {
    List<PlanGeometry> tried = new ArrayList<>();
    long pagesInCap = geometry.capBytes() / cuts.pageBytes();
    for (long multiple = 1; multiple > 0 && multiple <= cuts.pageBytes(); multiple <<= 1) {
      long unit = multiple;
      long most = Residues.product(pagesInCap, unit);
      laidAgain(stride -> Math.min(most, stride / unit * unit), unit).ifPresent(tried::add);
    }
    if (cuts.planes() == 1) {
      long room = geometry.capPageBytes() - cuts.start(0) % cuts.pageBytes();
      laidAgain(stride -> Math.min(stride, room / cuts.blocks(0)), 1).ifPresent(tried::add);
    }
    return tried.stream()
        .filter(this::changesStrides)
        .filter(Infeasibility::works)
        .max((a, b) -> Long.compare(sumOfStrides(a), sumOfStrides(b)))
        .map(found -> strideAlternative(Alternative.Kind.SMALLER_STRIDE, found));
  }

  private Optional<Alternative> smallerPage() {
    for (long page = cuts.pageBytes() >> 1; page >= SMALLEST_PAGE_BYTES; page >>= 1) {
      PlanGeometry tried =
          new PlanGeometry(
              geometry.mappedBytes(),
              page,
              geometry.capBytes(),
              geometry.sliceBytes(),
              geometry.planes());
      if (works(tried)) {
        return Optional.of(new Alternative(Alternative.Kind.BACKING_PAGE, page, tried));
      }
    }
    return Optional.empty();
  }

  private Alternative strideAlternative(Alternative.Kind kind, PlanGeometry found) {
    for (int plane = 0; plane < found.planes().size(); plane++) {
      long stride = found.planes().get(plane).strideBytes();
      if (stride != geometry.planes().get(plane).strideBytes()) {
        return new Alternative(kind, stride, found);
      }
    }
    throw new IllegalStateException("no stride differs from " + geometry);
  }

  private boolean changesStrides(PlanGeometry tried) {
    for (int plane = 0; plane < tried.planes().size(); plane++) {
      if (tried.planes().get(plane).strideBytes() != geometry.planes().get(plane).strideBytes()) {
        return true;
      }
    }
    return false;
  }

  private static boolean works(PlanGeometry tried) {
    return new Stretches(new LegalCuts(tried), tried.capBytes()).allWithinCap();
  }

  private static long sumOfStrides(PlanGeometry tried) {
    long sum = 0;
    for (Plane plane : tried.planes()) {
      sum = Residues.sum(sum, plane.strideBytes());
    }
    return sum;
  }

  /**
   * The same planes with other strides and aligned starts, the gaps between them kept, in a region
   * that ends as far behind them as before; nothing where the result cannot be.
   */
  private Optional<PlanGeometry> laidAgain(LongUnaryOperator strides, long align) {
    Plane[] planes = new Plane[cuts.planes()];
    try {
      long oldEnd = 0;
      long newEnd = 0;
      for (int i = 0; i < cuts.planes(); i++) {
        Plane old = geometry.planes().get(cuts.index(i));
        long stride = strides.applyAsLong(old.strideBytes());
        if (stride <= 0) {
          return Optional.empty();
        }
        long offset =
            Bytes.roundUp(Math.addExact(newEnd, Math.subtractExact(cuts.start(i), oldEnd)), align);
        planes[cuts.index(i)] =
            new Plane(offset, stride, Math.min(stride, old.blockBytes()), old.blocks());
        oldEnd = cuts.end(i);
        newEnd = Math.addExact(offset, Math.multiplyExact(stride, old.blocks()));
      }
      long tail = geometry.mappedBytes() - oldEnd;
      long region = tail < cuts.pageBytes() ? newEnd : Math.addExact(newEnd, tail);
      return Optional.of(
          new PlanGeometry(
              Bytes.roundUp(region, cuts.pageBytes()),
              cuts.pageBytes(),
              geometry.capBytes(),
              geometry.sliceBytes(),
              Arrays.asList(planes)));
    } catch (ArithmeticException | IllegalArgumentException beyondLong) {
      return Optional.empty();
    }
  }
}
