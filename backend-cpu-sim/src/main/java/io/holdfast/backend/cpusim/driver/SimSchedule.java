package io.holdfast.backend.cpusim.driver;

import java.util.Arrays;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * In which order device work is done, where more than one order is right: a source of choices. By
 * seed, from a list, or all there are, one after the other ({@link Exploration}).
 *
 * <p>Work is never done by itself then. Whenever a call has put work on a stream, when a call
 * waits, and when somebody asks how far work is, the schedule chooses what is done next of all that
 * could be; after a submission it may also choose to do nothing yet. So a device can be as late as
 * is allowed or as early, and the same choices give the same order again.
 *
 * <p>The order is the same only if the calls are, and Holdfast asks on threads of its own, at times
 * that no seed decides. So a case that is to be replayed says whose asking counts: {@link
 * #askedOnlyBy}. One schedule serves one machine. Any thread.
 */
public final class SimSchedule {
  private static final int FIRST_ROOM = 64;

  private final DriverLock lock = new DriverLock(); // asked inside driver calls
  private final @Nullable SplittableRandom random;
  private final int[] given;
  private final int lazyPercent;
  private final boolean eager;
  private int[] taken = new int[FIRST_ROOM];
  private int[] offered = new int[FIRST_ROOM];
  private int count;
  private volatile @Nullable Thread asker;

  private SimSchedule(
      @Nullable SplittableRandom random, int lazyPercent, boolean eager, int... given) {
    this.eager = eager;
    this.random = random;
    this.lazyPercent = lazyPercent;
    this.given = given;
  }

  /**
   * Choices by chance; how often nothing is done after a submission depends on the seed too.
   *
   * @param seed of the chance
   * @return a new schedule
   */
  public static SimSchedule seeded(long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    return new SimSchedule(random, random.nextInt(101), false);
  }

  /**
   * Choices as given; the first possibility after the last of them.
   *
   * @param choices the possibility at each choice, from 0
   * @return a new schedule
   */
  public static SimSchedule of(int... choices) {
    return new SimSchedule(null, 0, false, choices.clone());
  }

  /**
   * No lateness at all: what can be done is done before the submitting call returns.
   *
   * @return a new schedule
   */
  public static SimSchedule eager() {
    return new SimSchedule(null, 0, true);
  }

  /**
   * From now on one thread's asking counts. To every other thread that asks nothing is done yet, as
   * if it had come too early, and neither the ledger nor a fault counts its question. So whatever
   * threads Holdfast has of its own, what happens is decided by this thread's calls and the seed,
   * and is the same each time.
   *
   * <p>What this thread waits for comes about by its own asking: completions, and routes and pools
   * that it closes. Work on which another thread waits inside a driver call is done by that wait.
   *
   * @param thread a platform thread, usually the calling one
   * @return this
   * @throws IllegalArgumentException for a virtual thread: what can block is asked by others for it
   */
  public SimSchedule askedOnlyBy(Thread thread) {
    if (thread.isVirtual()) {
      throw new IllegalArgumentException("a virtual thread does not ask by itself");
    }
    asker = thread;
    return this;
  }

  /** Whether nothing has happened yet as far as the calling thread can learn by asking. */
  boolean unseenHere() {
    Thread only = asker;
    return only != null && only != Thread.currentThread();
  }

  /** Which of so many streams goes on, or -1 for none yet. */
  int afterSubmission(int streams) {
    lock.lock();
    try {
      if (eager) {
        return 0;
      }
      if (random != null) {
        boolean later = random.nextInt(100) < lazyPercent;
        return later
            ? note(0, streams + 1) - 1
            : note(1 + random.nextInt(streams), streams + 1) - 1;
      }
      return note(next(streams + 1), streams + 1) - 1;
    } finally {
      lock.unlock();
    }
  }

  /** Which of so many streams goes on. */
  int whileWaiting(int streams) {
    lock.lock();
    try {
      if (eager) {
        return 0;
      }
      return random == null ? note(next(streams), streams) : note(random.nextInt(streams), streams);
    } finally {
      lock.unlock();
    }
  }

  private int next(int possibilities) {
    return count < given.length ? Math.min(given[count], possibilities - 1) : 0;
  }

  private int note(int choice, int possibilities) {
    if (count == taken.length) {
      taken = Arrays.copyOf(taken, 2 * count);
      offered = Arrays.copyOf(offered, 2 * count);
    }
    taken[count] = choice;
    offered[count] = possibilities;
    count++;
    return choice;
  }

  /**
   * What was chosen so far; {@link #of} of it chooses the same again.
   *
   * @return the possibility at each choice
   */
  public int[] choices() {
    lock.lock();
    try {
      return Arrays.copyOf(taken, count);
    } finally {
      lock.unlock();
    }
  }

  /** How many possibilities each of {@link #choices} had. */
  int[] possibilities() {
    lock.lock();
    try {
      return Arrays.copyOf(offered, count);
    } finally {
      lock.unlock();
    }
  }
}
