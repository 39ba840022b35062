package io.holdfast.backend.cpusim.driver;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Does work when and in the order that a {@link SimSchedule} chooses, on the calling threads. */
final class ChosenScheduler implements Scheduler {
  private final WorkQueues driver;
  private final DriverLock lock;
  private final SimSchedule schedule;

  /** Who has put work on a stream and has not chosen yet what of it is done at once. */
  private volatile @Nullable Thread submitter;

  ChosenScheduler(WorkQueues driver, DriverLock lock, SimSchedule schedule) {
    this.driver = driver;
    this.lock = lock;
    this.schedule = schedule;
  }

  @Override
  public void kick(Stream stream) {
    lock.announce(); // who waits may have something to do now
  }

  @Override
  public void submitted(Stream stream) {
    submitter = Thread.currentThread();
    lock.announce();
  }

  @Override
  public void afterCall() {
    if (submitter != Thread.currentThread()) {
      return; // another thread's asking must not choose for it
    }
    lock.lock();
    try {
      submitter = null;
      List<Stream> possible = possible();
      while (!possible.isEmpty()) {
        int chosen = schedule.afterSubmission(possible.size());
        if (chosen < 0) {
          return;
        }
        run(possible.get(chosen));
        possible = possible();
      }
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void await() {
    if (!advance()) {
      lock.awaitChange();
    }
  }

  @Override
  public boolean unseenHere() {
    return schedule.unseenHere();
  }

  @Override
  public void asked() {
    advance();
  }

  @Override
  public boolean advance() {
    List<Stream> possible = possible();
    if (possible.isEmpty()) {
      return false;
    }
    run(possible.get(schedule.whileWaiting(possible.size())));
    return true;
  }

  /** Streams that can go on, always in the same order. */
  private List<Stream> possible() {
    List<Stream> possible = new ArrayList<>();
    for (Context context : driver.contexts.toList()) {
      for (Stream stream : context.streams) {
        if (!stream.running && driver.next(stream) != null) {
          possible.add(stream);
        }
      }
    }
    return possible;
  }

  /** The oldest work of a stream; lets the lock go meanwhile. */
  private void run(Stream stream) {
    Work work = driver.next(stream);
    if (work == null) {
      return;
    }
    stream.running = true;
    driver.begin(stream, work);
    int code;
    lock.unlock();
    try {
      code = driver.perform(stream, work);
    } finally {
      lock.lock();
      stream.running = false;
    }
    driver.finish(stream, work, code);
  }

  @Override
  public void close() {
    lock.lock();
    try {
      lock.announce();
    } finally {
      lock.unlock();
    }
  }
}
