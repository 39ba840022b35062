package io.holdfast.backend.cpusim.driver;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;

/**
 * What shall go wrong: rules that are asked before every call. Any thread.
 *
 * <p>Each rule counts the calls it matches from the moment it is added, also those at which another
 * strikes; where several would strike at one call, the first that was added does. A refused call
 * has no effect, as with a real driver.
 */
public final class Faults {
  /** Not a monitor: calls of virtual threads pass here, and stay on their carriers. */
  private final DriverLock lock = new DriverLock();

  private final SimClock clock;
  private final List<Armed> armed = new ArrayList<>();
  private final Set<String> hanging = new TreeSet<>();
  private final Set<String> released = new TreeSet<>();
  private volatile boolean any;
  private boolean closed;
  private volatile @Nullable IntConsumer lose;

  Faults(SimClock clock) {
    this.clock = clock;
  }

  /**
   * Adds the rules of a script.
   *
   * @param script the rules
   */
  public void add(FaultScript script) {
    lock.lock();
    try {
      for (FaultScript.Rule rule : script.rules()) {
        armed.add(new Armed(rule));
      }
      any = !armed.isEmpty();
    } finally {
      lock.unlock();
    }
  }

  /** Forgets all rules; calls that hang go on hanging until released. */
  public void clear() {
    lock.lock();
    try {
      armed.clear();
      any = false;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Lets calls go on that hang under a name.
   *
   * @param name the name in the rule
   */
  public void release(String name) {
    lock.lock();
    try {
      released.add(name);
      lock.announce();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Names under which calls hang now.
   *
   * @return the names, in order
   */
  public Set<String> hanging() {
    lock.lock();
    try {
      return new TreeSet<>(hanging);
    } finally {
      lock.unlock();
    }
  }

  /**
   * Waits until a call hangs under a name.
   *
   * @param name the name in the rule
   * @throws InterruptedException when the waiting thread is interrupted
   */
  public void awaitHanging(String name) throws InterruptedException {
    lock.lock();
    try {
      while (!hanging.contains(name)) {
        lock.awaitChangeOrInterrupt();
      }
    } finally {
      lock.unlock();
    }
  }

  /**
   * How often rules have struck.
   *
   * @return strikes of all rules that are armed
   */
  public long strikes() {
    lock.lock();
    try {
      return armed.stream().mapToLong(one -> one.strikes).sum();
    } finally {
      lock.unlock();
    }
  }

  /** What a lost device means; set once by the driver. */
  void onLose(IntConsumer action) {
    lose = action;
  }

  /** The code to refuse a call with, or 0; delays and hangs happen inside. */
  int strike(Operation operation) {
    return any ? ask(operation) : Codes.SUCCESS;
  }

  private int ask(Operation operation) {
    Optional<FaultScript.Action> action = decide(operation);
    if (action.isEmpty()) {
      return Codes.SUCCESS;
    }
    return switch (action.get()) {
      case FaultScript.Fail(int code) -> code;
      case FaultScript.Delay(long nanos) -> {
        clock.pause(nanos);
        yield Codes.SUCCESS;
      }
      case FaultScript.Hang(String name) -> {
        hang(name);
        yield Codes.SUCCESS;
      }
      case FaultScript.LoseDevice(int code) -> {
        loseDevice(code);
        yield code;
      }
    };
  }

  private Optional<FaultScript.Action> decide(Operation operation) {
    lock.lock();
    try {
      Armed first = null;
      for (Armed one : armed) {
        if (one.rule.matches(operation) && one.rule.strikesAt(++one.seen) && first == null) {
          first = one;
        }
      }
      if (first == null) {
        return Optional.empty();
      }
      first.strikes++;
      return Optional.of(first.rule.action());
    } finally {
      lock.unlock();
    }
  }

  private void hang(String name) {
    lock.lock();
    try {
      hanging.add(name);
      lock.announce();
      while (!released.contains(name) && !closed) {
        lock.awaitChange(); // a driver call does not end because a Java thread is interrupted
      }
      hanging.remove(name);
    } finally {
      lock.unlock();
    }
  }

  private void loseDevice(int code) {
    IntConsumer action = lose;
    if (action != null) {
      action.accept(code);
    }
  }

  void close() {
    lock.lock();
    try {
      closed = true;
      lock.announce();
    } finally {
      lock.unlock();
    }
  }

  /** A rule and how far it has counted. */
  private static final class Armed {
    final FaultScript.Rule rule;
    long seen;
    long strikes;

    Armed(FaultScript.Rule rule) {
      this.rule = rule;
    }
  }
}
