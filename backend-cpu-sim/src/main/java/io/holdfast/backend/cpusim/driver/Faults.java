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
 * <p>Each rule counts the calls it matches from the moment it is added. A refused call has no
 * effect, as with a real driver.
 */
public final class Faults {
  private final SimClock clock;
  private final List<Armed> armed = new ArrayList<>();
  private final Set<String> hanging = new TreeSet<>();
  private final Set<String> released = new TreeSet<>();
  private volatile boolean any;
  private boolean closed;
  private @Nullable IntConsumer lose;

  Faults(SimClock clock) {
    this.clock = clock;
  }

  /**
   * Adds the rules of a script.
   *
   * @param script the rules
   */
  public synchronized void add(FaultScript script) {
    for (FaultScript.Rule rule : script.rules()) {
      armed.add(new Armed(rule));
    }
    any = !armed.isEmpty();
  }

  /** Forgets all rules; calls that hang go on hanging until released. */
  public synchronized void clear() {
    armed.clear();
    any = false;
  }

  /**
   * Lets calls go on that hang under a name.
   *
   * @param name the name in the rule
   */
  public synchronized void release(String name) {
    released.add(name);
    notifyAll();
  }

  /**
   * Names under which calls hang now.
   *
   * @return the names, in order
   */
  public synchronized Set<String> hanging() {
    return new TreeSet<>(hanging);
  }

  /**
   * Waits until a call hangs under a name.
   *
   * @param name the name in the rule
   * @throws InterruptedException when the waiting thread is interrupted
   */
  public synchronized void awaitHanging(String name) throws InterruptedException {
    while (!hanging.contains(name)) {
      wait();
    }
  }

  /**
   * How often rules have struck.
   *
   * @return strikes of all rules that are armed
   */
  public synchronized long strikes() {
    return armed.stream().mapToLong(one -> one.strikes).sum();
  }

  /** What a lost device means; set once by the driver. */
  synchronized void onLose(IntConsumer action) {
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

  private synchronized Optional<FaultScript.Action> decide(Operation operation) {
    for (Armed one : armed) {
      if (one.rule.matches(operation)) {
        one.seen++;
        if (one.rule.strikesAt(one.seen)) {
          one.strikes++;
          return Optional.of(one.rule.action());
        }
      }
    }
    return Optional.empty();
  }

  private synchronized void hang(String name) {
    hanging.add(name);
    notifyAll();
    boolean interrupted = false;
    while (!released.contains(name) && !closed) {
      try {
        wait();
      } catch (InterruptedException stubborn) {
        interrupted = true; // a driver call does not end because a Java thread is interrupted
      }
    }
    hanging.remove(name);
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private void loseDevice(int code) {
    IntConsumer action;
    synchronized (this) {
      action = lose;
    }
    if (action != null) {
      action.accept(code);
    }
  }

  synchronized void close() {
    closed = true;
    notifyAll();
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
