package io.holdfast.internal.host;

/**
 * Finds by measuring how many threads populate fastest: more can be slower. From a start it doubles
 * while that helps, else halves while that helps; then it looks between the best and what is known
 * to be worse on either side, and stays. Not for several threads at once.
 *
 * <p>A number is measured over whole slices that began after it was set: those of threads that are
 * about to leave would flatter the smaller number.
 */
final class ThreadTuner {
  // Two windows of equal work differ by less than this where nothing was changed.
  private static final double BETTER = 1.05;

  // Slices that every thread does in one window of measuring.
  private static final int SLICES_PER_WINDOW = 3;

  // Twice the threads and nearly twice the speed: a number between the two is slower than the
  // larger.
  private static final double NEARLY_TWICE = 1.6;

  // At most about this part of all slices is spent on numbers that were not better.
  private static final int PART_TO_SPEND = 8;

  private final int most;
  private final long slices;
  private int threads;

  // What is known: the best, and the nearest numbers on either side that were not better.
  private int best;
  private double bestRate;
  private int worseBelow;
  private double rateBelow;
  private int worseAbove;
  private Step step = Step.FIRST;

  // What is being measured.
  private int epoch;
  private int inFlight;
  private long toSkip;
  private long measured;
  private long measuredBytes;
  private long since;
  private long spent;

  /**
   * Begins.
   *
   * @param start the number to begin with
   * @param most the largest that may be tried
   * @param slices how many slices there are
   */
  ThreadTuner(int start, int most, long slices) {
    this.most = Math.max(1, most);
    this.slices = slices;
    this.threads = Math.clamp(start, 1, this.most);
    this.best = threads;
    this.worseAbove = this.most + 1;
    this.toSkip = threads; // threads that start take a moment
  }

  /** One number, which is not looked for. */
  static ThreadTuner fixed(int threads, long slices) {
    ThreadTuner tuner = new ThreadTuner(threads, threads, slices);
    tuner.step = Step.SETTLED;
    return tuner;
  }

  /** How many threads should work now. */
  int threads() {
    return threads;
  }

  /** How many were fastest so far. */
  int best() {
    return best;
  }

  /** Whether it has found its number and measures no more. */
  boolean settled() {
    return step == Step.SETTLED;
  }

  /** A slice begins; give the answer back at its end. */
  int began() {
    inFlight++;
    return epoch;
  }

  /** A slice ended, at a time. */
  void ended(int begunIn, long bytes, long nanos) {
    inFlight--;
    if (settled()) {
      return;
    }
    if (toSkip > 0) {
      // After a change only slices from before it are waited for, at the start any.
      if (epoch == 0 || begunIn < epoch) {
        toSkip--;
      }
      if (toSkip == 0) {
        since = nanos;
      }
      return;
    }
    measured++;
    measuredBytes += bytes;
    if (measured >= (long) SLICES_PER_WINDOW * threads) {
      measured(measuredBytes / (double) Math.max(1, nanos - since));
      remeasure(nanos);
    }
  }

  /** A slice failed, which measures nothing. */
  void failed() {
    inFlight--;
  }

  /** What was being measured was disturbed, by a pause for example: it is measured afresh. */
  void remeasure(long nanos) {
    epoch++;
    toSkip = inFlight;
    measured = 0;
    measuredBytes = 0;
    since = nanos;
  }

  private void measured(double rate) {
    boolean better = rate > bestRate * BETTER;
    if (better && threads > best) {
      worseBelow = best;
      rateBelow = bestRate;
    } else if (better && threads < best) {
      worseAbove = best;
    } else if (!better && threads > best) {
      worseAbove = threads;
    } else if (!better) {
      worseBelow = threads;
      rateBelow = rate;
    }
    if (better) {
      bestRate = rate;
      best = threads;
    } else {
      spent += measured;
    }
    step =
        switch (step) {
          case FIRST -> threads < most ? Step.UP : Step.DOWN;
          // Only if the very first step up failed can fewer be better than the start.
          case UP -> better ? Step.UP : worseBelow == 0 ? Step.DOWN : Step.BETWEEN;
          case DOWN -> better ? Step.DOWN : Step.BETWEEN;
          case BETWEEN -> Step.BETWEEN;
          case SETTLED -> Step.SETTLED;
        };
    threads = next();
  }

  private int next() {
    if (spent >= slices / PART_TO_SPEND) {
      step = Step.SETTLED;
    }
    if (step == Step.UP) {
      if (best < most) {
        return Math.min(most, 2 * best);
      }
      step = Step.BETWEEN;
    }
    if (step == Step.DOWN) {
      if (best > 1) {
        return best / 2;
      }
      step = Step.BETWEEN;
    }
    if (step == Step.BETWEEN) {
      int near = Math.max(1, best / 4);
      if (worseAbove - best > near && best < most) {
        return best + (worseAbove - best) / 2;
      }
      if (best - worseBelow > near && bestRate < NEARLY_TWICE * rateBelow) {
        return best - (best - worseBelow) / 2;
      }
      step = Step.SETTLED;
    }
    return best;
  }

  private enum Step {
    FIRST,
    UP,
    DOWN,
    BETWEEN,
    SETTLED
  }
}
