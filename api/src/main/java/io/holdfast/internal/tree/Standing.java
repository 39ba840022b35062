package io.holdfast.internal.tree;

import io.holdfast.error.BusyException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * One thing that can be closed, standing on others.
 *
 * <p>{@link #close} goes through four steps over this and everything that stands on it, newest
 * first: mark as closing (new uses are refused); ask for what is in the caller's hands; let the
 * device finish; take the views away. Up to here any refusal puts everything back. Then comes the
 * release, once for each, whatever the others throw.
 *
 * <p>Safe from any thread: of several closers one does the work, the others wait for its end.
 */
public abstract class Standing implements AutoCloseable {
  private static final ReentrantLock TREE = new ReentrantLock();
  private static final Condition CHANGED = TREE.newCondition();
  private static final AtomicLong NUMBERS = new AtomicLong();
  private static long births;

  private final String name;
  private final long number = NUMBERS.incrementAndGet();
  private final List<Standing> grounds;
  private final Set<Standing> above = new LinkedHashSet<>();
  private long birth; // guarded by the tree's lock
  private volatile Phase phase = Phase.FORMING;

  /**
   * Begins to make it. It stands nowhere yet: nobody closes what is half made. Whoever makes it
   * {@linkplain #enrol enrols} it when everything is there that a close asks of it.
   *
   * @param name for messages, for example {@code pinned region of 64 MiB}
   * @param grounds what it will stand on; closing any of them closes this first
   * @throws IllegalStateException when one of them is closed or closing
   */
  protected Standing(String name, Standing... grounds) {
    this.name = name;
    this.grounds = List.of(grounds);
    for (Standing ground : grounds) {
      ground.requireOpen();
    }
  }

  /**
   * Makes something stand on its grounds.
   *
   * @param made just made, and not shown to anybody
   * @param <T> what it is
   * @return the same
   * @throws IllegalStateException when one of the grounds is closed or closing; what was made is
   *     still the caller's to undo
   */
  public static <T extends Standing> T enrolled(T made) {
    made.enrol();
    return made;
  }

  /**
   * Stands on its grounds from now on; the last step of making it. From here on any thread may
   * close it.
   *
   * @throws IllegalStateException when one of the grounds is closed or closing, or not enrolled
   *     itself; this stands nowhere then, and closing it only undoes what making it did
   */
  public final void enrol() {
    TREE.lock();
    try {
      if (phase != Phase.FORMING) {
        throw new IllegalStateException(name + " is enrolled already");
      }
      for (Standing ground : grounds) {
        ground.requireOpen();
        if (ground.phase == Phase.FORMING) {
          throw new IllegalStateException(name + " would stand on " + ground + ", half made");
        }
      }
      birth = births++;
      for (Standing ground : grounds) {
        ground.above.add(this);
      }
      phase = Phase.OPEN;
    } finally {
      TREE.unlock();
    }
  }

  /**
   * What it is, for messages.
   *
   * @return the name
   */
  public final String name() {
    return name;
  }

  /**
   * What tells it from others of the same name.
   *
   * @return a positive number, unique in this process
   */
  public final long number() {
    return number;
  }

  /**
   * What it stands on first.
   *
   * @return that one's {@link #number}, 0 where it stands on nothing
   */
  public final long groundNumber() {
    return grounds.isEmpty() ? 0 : grounds.getFirst().number;
  }

  /**
   * Whether it can be used.
   *
   * @return false from the moment a close cannot be refused any more
   */
  public final boolean isOpen() {
    Phase now = phase;
    return now == Phase.OPEN || now == Phase.FORMING;
  }

  /**
   * Refuses use after close.
   *
   * @throws IllegalStateException when closed or closing
   */
  public final void requireOpen() {
    Phase now = phase;
    if (now != Phase.OPEN && now != Phase.FORMING) {
      throw closed(now);
    }
  }

  private IllegalStateException closed(Phase now) {
    return new IllegalStateException(name + (now == Phase.CLOSED ? " is closed" : " is closing"));
  }

  /**
   * What stands on this, directly or not.
   *
   * @return names, oldest first
   */
  public final List<String> namesAbove() {
    TREE.lock();
    try {
      Set<Standing> found = new LinkedHashSet<>();
      collect(this, found);
      found.remove(this);
      return found.stream()
          .sorted(Comparator.comparingLong((Standing one) -> one.birth))
          .map(Standing::name)
          .toList();
    } finally {
      TREE.unlock();
    }
  }

  /**
   * Lets nobody begin a new use; the counterpart of {@link #reopen}. Called once for each attempt
   * to close, with no lock held.
   */
  protected void shut() {}

  /** A close was refused: uses may begin again. */
  protected void reopen() {}

  /**
   * Names what is in the caller's hands.
   *
   * @param holders names are added here
   */
  protected void refuse(List<String> holders) {}

  /**
   * Waits for the device.
   *
   * @throws BusyException when it does not end in a time after which something must be wrong
   */
  protected void quiesce() {}

  /**
   * Takes views away.
   *
   * @throws BusyException while a native call of the caller's uses one
   */
  protected void detach() {}

  /** Undoes what making this did; everything above is gone. Called once. */
  protected abstract void release();

  /** Closes what stands on this, then this. Idempotent. */
  @Override
  public final void close() {
    List<Standing> doomed = claim();
    if (doomed.isEmpty()) {
      return;
    }
    List<Standing> shut = new ArrayList<>(doomed.size());
    try {
      for (Standing one : doomed) {
        shut.add(one);
        one.shut();
      }
      List<String> holders = new ArrayList<>();
      for (Standing one : doomed) {
        one.refuse(holders);
      }
      if (!holders.isEmpty()) {
        throw new BusyException("closing " + name, holders);
      }
      for (Standing one : doomed) {
        one.quiesce();
      }
      for (Standing one : doomed) {
        one.detach();
      }
    } catch (Throwable refused) {
      for (Standing one : shut.reversed()) {
        one.reopen();
      }
      settle(doomed, Phase.OPEN);
      throw refused;
    }
    release(doomed);
  }

  private static void release(List<Standing> doomed) {
    Throwable first = null;
    for (Standing one : doomed) {
      try {
        one.release();
      } catch (Throwable failure) {
        if (first == null) {
          first = failure;
        } else {
          first.addSuppressed(failure);
        }
      }
    }
    settle(doomed, Phase.CLOSED);
    if (first instanceof Error error) {
      throw error;
    }
    if (first instanceof RuntimeException exception) {
      throw exception;
    }
  }

  /** This and all above, newest first, marked as closing; empty when it is closed already. */
  private List<Standing> claim() {
    TREE.lock();
    try {
      while (true) {
        if (phase == Phase.CLOSED) {
          return List.of();
        }
        if (phase == Phase.FORMING) { // its maker gives up
          phase = Phase.CLOSING;
          return List.of(this);
        }
        Set<Standing> found = new LinkedHashSet<>();
        collect(this, found);
        if (found.stream().allMatch(one -> one.phase == Phase.OPEN)) {
          List<Standing> doomed = new ArrayList<>(found);
          doomed.sort(Comparator.comparingLong((Standing one) -> one.birth).reversed());
          doomed.forEach(one -> one.phase = Phase.CLOSING);
          return doomed;
        }
        CHANGED.awaitUninterruptibly(); // somebody else closes a part of it
      }
    } finally {
      TREE.unlock();
    }
  }

  private static void collect(Standing one, Set<Standing> found) {
    if (found.add(one)) {
      one.above.forEach(higher -> collect(higher, found));
    }
  }

  private static void settle(List<Standing> settled, Phase phase) {
    TREE.lock();
    try {
      for (Standing one : settled) {
        one.phase = phase;
        if (phase == Phase.CLOSED) {
          one.grounds.forEach(ground -> ground.above.remove(one));
        }
      }
      CHANGED.signalAll();
    } finally {
      TREE.unlock();
    }
  }

  @Override
  public String toString() {
    return name;
  }

  private enum Phase {
    FORMING,
    OPEN,
    CLOSING,
    CLOSED
  }
}
