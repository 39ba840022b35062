package io.holdfast.internal.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.PriorityQueue;
import java.util.SplittableRandom;
import java.util.function.IntToDoubleFunction;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

class ThreadTunerTest {
  private static final long SEED = 20_261_130;
  private static final long SLICE_BYTES = 8L << 20;

  /**
   * Workers in virtual time, as the populator has them: each slice takes what the kernel's speed at
   * the number of threads then inside gives it, and threads beyond the wanted number leave at the
   * end of their slice.
   *
   * @param gigabytesPerSecond of all threads together, by their number
   */
  private record Machine(IntToDoubleFunction gigabytesPerSecond, double noise) {

    /** Nanoseconds for all slices; the numbers tried are added to a list. */
    double populate(ThreadTuner tuner, int slices, List<Integer> tried) {
      SplittableRandom random = new SplittableRandom(SEED);
      PriorityQueue<Slice> inside = new PriorityQueue<>();
      double now = 0;
      // What one thread has done by now: all inside go equally fast.
      double progress = 0;
      int next = 0;
      int working = 0;
      while (true) {
        while (working < tuner.threads() && next < slices) {
          working++;
          inside.add(begin(next++, progress, tuner, random));
        }
        if (inside.isEmpty()) {
          return now;
        }
        if (tried.isEmpty() || tried.getLast() != tuner.threads()) {
          tried.add(tuner.threads());
        }
        Slice first = inside.remove();
        double each = gigabytesPerSecond.applyAsDouble(working) / working; // bytes per nanosecond
        now += (first.until - progress) / each;
        progress = first.until;
        tuner.ended(first.epoch, SLICE_BYTES, Math.round(now));
        if (next < slices && working <= tuner.threads()) {
          inside.add(begin(next++, progress, tuner, random));
        } else {
          working--;
        }
      }
    }

    private Slice begin(int slice, double progress, ThreadTuner tuner, SplittableRandom random) {
      double bytes = SLICE_BYTES * (1 + noise * (2 * random.nextDouble() - 1));
      return new Slice(progress + bytes, slice, tuner.began());
    }

    private record Slice(double until, int number, int epoch) implements Comparable<Slice> {
      @Override
      public int compareTo(Slice other) {
        int byEnd = Double.compare(until, other.until);
        return byEnd != 0 ? byEnd : Integer.compare(number, other.number);
      }
    }
  }

  private static List<Integer> climb(int start, int most, IntToDoubleFunction speed) {
    List<Integer> tried = new ArrayList<>();
    new Machine(speed, 0).populate(new ThreadTuner(start, most, 10_000), 10_000, tried);
    return tried;
  }

  private static double speed(double[] seconds, int threads) {
    int below = Math.min(16, Integer.highestOneBit(threads));
    double share = Math.min(1, (threads - below) / (double) below);
    double here = 1 / seconds[Integer.numberOfTrailingZeros(below)];
    double above =
        1 / seconds[Math.min(seconds.length - 1, Integer.numberOfTrailingZeros(2 * below))];
    return 17.18 * (here + share * (above - here));
  }

  // Seconds for 16 GiB of base pages and of transparent huge pages on a machine with an H200, by
  // 1, 2, 4, 8 and 16 threads.
  private static final double[] BASE_PAGES = {4.36, 2.41, 1.29, 3.07, 2.92};
  private static final double[] HUGE_PAGES = {2.54, 1.15, 0.82, 1.37, 1.68};

  @Test
  void whereMoreIsSlowerItGoesBackToTheStart() {
    assertEquals(List.of(4, 8, 2, 6, 5, 4), climb(4, 32, threads -> speed(BASE_PAGES, threads)));
  }

  @Test
  void whereMoreIsFasterItGoesUpToTheMost() {
    assertEquals(List.of(4, 8, 12, 10, 12), climb(4, 12, threads -> threads));
  }

  @Test
  void whereFewerAreFasterItGoesDown() {
    assertEquals(List.of(4, 8, 2, 1), climb(4, 16, threads -> 1.0 / threads));
  }

  @Test
  void itStaysAtTheBestSeenNotAtTheLast() {
    List<Integer> tried = climb(4, 64, threads -> threads == 8 ? 10 : 1);

    assertEquals(List.of(4, 8, 16), tried.subList(0, 3));
    assertEquals(8, tried.getLast());
  }

  @Test
  void aDifferenceWithinTheNoiseIsNone() {
    assertEquals(4, climb(4, 8, threads -> threads >= 8 ? 1.04 : 1).getLast());
  }

  @Test
  void threadsThatLeaveDoNotFlatterTheSmallerNumber() {
    // Speed grows up to eight threads; were the slices of the eight counted for the four that stay
    // after them, four would look faster than they are.
    ThreadTuner tuner = new ThreadTuner(8, 16, 10_000);
    List<Integer> tried = new ArrayList<>();

    new Machine(threads -> Math.min(threads, 8), 0).populate(tuner, 10_000, tried);

    assertEquals(8, tuner.best(), tried::toString);
  }

  @Test
  void aNumberThatIsGivenIsKept() {
    List<Integer> tried = new ArrayList<>();

    new Machine(threads -> threads, 0).populate(ThreadTuner.fixed(3, 10_000), 10_000, tried);

    assertEquals(List.of(3), tried);
  }

  @ParameterizedTest
  @CsvSource({"4,1,1", "4,2,2", "4,0,1", "0,8,1"})
  void theStartLiesBetweenOneAndTheMost(int start, int most, int threads) {
    assertEquals(threads, new ThreadTuner(start, most, 100).threads());
  }

  @Test
  void aPauseDisturbsNoMeasurement() {
    ThreadTuner tuner = new ThreadTuner(1, 2, 10_000);
    tuner.ended(tuner.began(), 8, 10);
    tuner.ended(tuner.began(), 8, 20);
    tuner.remeasure(1_000_000);
    for (int i = 1; i <= 6; i++) {
      tuner.ended(tuner.began(), 8, 1_000_000 + 10 * i);
    }

    assertEquals(2, tuner.threads());
    int slow = tuner.began();
    for (int i = 1; i <= 12; i++) {
      tuner.ended(i == 1 ? slow : tuner.began(), 8, 1_000_060 + 11 * i);
    }

    // Had the pause been counted, two would be ten thousand times faster than one.
    assertEquals(1, tuner.best());
  }

  /** A way in which speed can depend on the number of threads. */
  record Shape(String name, IntToDoubleFunction speed) {
    @Override
    public String toString() {
      return name;
    }
  }

  static Stream<Shape> shapes() {
    List<Shape> shapes = new ArrayList<>();
    shapes.add(new Shape("base pages of an H200 host", threads -> speed(BASE_PAGES, threads)));
    shapes.add(new Shape("huge pages of an H200 host", threads -> speed(HUGE_PAGES, threads)));
    for (int peak : new int[] {1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32}) {
      shapes.add(new Shape("level after " + peak, threads -> 3.0 * Math.min(threads, peak)));
      shapes.add(
          new Shape(
              "falling after " + peak,
              threads ->
                  threads <= peak
                      ? 3.0 * threads
                      : 3.0 * peak * Math.pow(peak / (double) threads, 0.7)));
      shapes.add(
          new Shape(
              "bending towards " + peak,
              threads -> 3.0 * threads / (1 + Math.pow(threads / (double) peak, 2))));
    }
    return shapes.stream();
  }

  @ParameterizedTest
  @MethodSource("shapes")
  void lookingForTheNumberCostsLittleOverKnowingIt(Shape shape) {
    for (double noise : new double[] {0, 0.1}) {
      for (int most : new int[] {4, 16, 32}) {
        for (int gib : new int[] {4, 16, 64}) {
          int slices = (int) ((long) gib << 30 >> 23);
          Machine machine = new Machine(shape.speed(), noise);
          double known =
              IntStream.rangeClosed(1, most)
                  .mapToDouble(
                      threads ->
                          machine.populate(
                              ThreadTuner.fixed(threads, slices), slices, new ArrayList<>()))
                  .min()
                  .orElseThrow();
          List<Integer> tried = new ArrayList<>();

          double found = machine.populate(new ThreadTuner(4, most, slices), slices, tried);

          // A few GiB are there before looking for the number can pay: tenths of a second are lost.
          double allowed = gib < 16 ? 1.7 : 1.15;
          assertTrue(
              found <= allowed * known,
              () ->
                  "%d GiB, at most %d threads, noise %.1f: %.2f of the best, by %s"
                      .formatted(gib, most, noise, found / known, tried));
        }
      }
    }
  }
}
