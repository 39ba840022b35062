package io.holdfast.internal.host;

/**
 * Finds by measuring how many threads populate fastest: more can be slower. It climbs from a start,
 * doubling while that helps, else halving while that helps, and then stays. Not for several threads
 * at once.
 */
final class ThreadTuner {
  // Two windows of equal work differ by less than this where nothing was changed.
  private static final double BETTER = 1.05;

  private final int most;
  private int threads;
  private int bestThreads;
  private double bestRate;
  private int steps;
  private Step step = Step.FIRST;

  ThreadTuner(int start, int most) {
    this.most = Math.max(1, most);
    this.threads = Math.clamp(start, 1, this.most);
    this.bestThreads = threads;
  }

  /** How many threads should work now. */
  int threads() {
    return threads;
  }

  /** How many were fastest so far. */
  int best() {
    return bestThreads;
  }

  /** Whether it has found its number and measures no more. */
  boolean settled() {
    return step == Step.SETTLED;
  }

  /** Takes a measurement of {@link #threads()} and decides on the next number. */
  void measured(double rate) {
    boolean better = rate > bestRate * BETTER;
    if (better) {
      bestRate = rate;
      bestThreads = threads;
    }
    switch (step) {
      case FIRST -> {
        if (threads < most) {
          go(Step.UP, Math.min(most, 2 * threads));
        } else {
          down();
        }
      }
      case UP -> {
        if (better && threads < most) {
          go(Step.UP, Math.min(most, 2 * threads));
        } else if (better) {
          settle();
        } else {
          threads = bestThreads;
          // Only if the very first step up failed can fewer be better than the start.
          if (steps == 1) {
            down();
          } else {
            settle();
          }
        }
      }
      case DOWN -> {
        if (better) {
          down();
        } else {
          settle();
        }
      }
      case SETTLED -> {}
    }
  }

  private void go(Step next, int count) {
    step = next;
    steps++;
    threads = count;
  }

  private void down() {
    if (threads > 1) {
      go(Step.DOWN, threads / 2);
    } else {
      settle();
    }
  }

  private void settle() {
    step = Step.SETTLED;
    threads = bestThreads;
  }

  private enum Step {
    FIRST,
    UP,
    DOWN,
    SETTLED
  }
}
