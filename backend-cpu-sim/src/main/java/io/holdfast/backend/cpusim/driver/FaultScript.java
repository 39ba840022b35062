package io.holdfast.backend.cpusim.driver;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;

/**
 * Rules of what shall go wrong: immutable, from code, from a file or from a seed.
 *
 * <p>A file has one rule per line: which call, when, and what. {@code #} begins a comment.
 *
 * <pre>
 * host-register   3       fail 2
 * *               17      fail 1
 * event-query     every 5 delay 2ms
 * vmm-create      1       hang commit
 * memcpy-*        2..4    fail 1
 * stream-query    1       lose 719
 * </pre>
 *
 * @param rules in the order they are asked; the first that strikes counts
 */
public record FaultScript(List<Rule> rules) {
  /** Copies. */
  public FaultScript {
    rules = List.copyOf(rules);
  }

  /**
   * Nothing goes wrong.
   *
   * @return a script without rules
   */
  public static FaultScript none() {
    return new FaultScript(List.of());
  }

  /**
   * The k-th call of one operation is refused.
   *
   * @param operation which
   * @param call the first is 1
   * @param code with which answer
   * @return the script
   */
  public static FaultScript failCall(Operation operation, long call, int code) {
    return none().and(Set.of(operation), new At(call, call), new Fail(code));
  }

  /**
   * The k-th call at all is refused; calls that only keep a thread's books are not counted.
   *
   * @param call the first is 1
   * @param code with which answer
   * @return the script
   */
  public static FaultScript failCall(long call, int code) {
    return none().and(everyCall(), new At(call, call), new Fail(code));
  }

  /**
   * This script and one more rule.
   *
   * @param operations which calls
   * @param when when it strikes
   * @param action what happens then
   * @return the longer script
   */
  public FaultScript and(Set<Operation> operations, When when, Action action) {
    List<Rule> more = new ArrayList<>(rules);
    more.add(new Rule(operations, when, action));
    return new FaultScript(more);
  }

  /**
   * Random refusals, the same for the same seed.
   *
   * @param seed the seed
   * @param refusals how many
   * @param amongCalls each strikes one of that many first calls at all
   * @param code with which answer
   * @return the script
   */
  public static FaultScript seeded(long seed, int refusals, long amongCalls, int code) {
    if (refusals < 0 || amongCalls < 1) {
      throw new IllegalArgumentException(
          refusals + " refusals cannot be among " + amongCalls + " calls");
    }
    SplittableRandom random = new SplittableRandom(seed);
    FaultScript script = none();
    for (int i = 0; i < refusals; i++) {
      long call = 1 + random.nextLong(amongCalls);
      script = script.and(everyCall(), new At(call, call), new Fail(code));
    }
    return script;
  }

  /**
   * Reads a script.
   *
   * @param file the file, in UTF-8
   * @return the script
   * @throws IOException where it cannot be read
   * @throws IllegalArgumentException where a line cannot be understood, with its number
   */
  public static FaultScript read(Path file) throws IOException {
    return parse(Files.readString(file));
  }

  /**
   * Reads a script from its text.
   *
   * @param text the lines
   * @return the script
   * @throws IllegalArgumentException where a line cannot be understood, with its number
   */
  public static FaultScript parse(String text) {
    List<Rule> rules = new ArrayList<>();
    List<String> lines = text.lines().toList();
    for (int i = 0; i < lines.size(); i++) {
      String line = lines.get(i).replaceFirst("#.*", "").strip();
      if (!line.isEmpty()) {
        try {
          rules.add(rule(List.of(line.split("\\s+"))));
        } catch (IllegalArgumentException wrong) {
          throw new IllegalArgumentException(
              "fault script, line " + (i + 1) + " (" + line + "): " + wrong.getMessage(), wrong);
        }
      }
    }
    return new FaultScript(rules);
  }

  private static Rule rule(List<String> words) {
    int at = 1;
    if (words.size() < 3) {
      throw new IllegalArgumentException("wanted: which call, when, and what");
    }
    When when;
    if (words.get(1).equals("every")) {
      when = new Every(number(words.get(2)));
      at = 3;
    } else if (words.get(1).equals("always")) {
      when = new Every(1);
      at = 2;
    } else {
      String[] ends = words.get(1).split("\\.\\.", 2);
      long first = number(ends[0]);
      long last = ends.length == 1 ? first : ends[1].isEmpty() ? Long.MAX_VALUE : number(ends[1]);
      when = new At(first, last);
      at = 2;
    }
    if (words.size() <= at) {
      throw new IllegalArgumentException("what shall happen is missing");
    }
    String verb = words.get(at);
    String object = words.size() > at + 1 ? words.get(at + 1) : "";
    if (words.size() > at + 2) {
      throw new IllegalArgumentException("nothing may follow '" + object + "'");
    }
    Action action =
        switch (verb) {
          case "fail" -> new Fail(code(object));
          case "delay" -> new Delay(nanos(object));
          case "hang" -> new Hang(object.isEmpty() ? "hang" : object);
          case "lose" -> new LoseDevice(object.isEmpty() ? Codes.LAUNCH_FAILED : code(object));
          default ->
              throw new IllegalArgumentException(
                  "'" + verb + "' is none of fail, delay, hang, lose");
        };
    return new Rule(operations(words.get(0)), when, action);
  }

  private static Set<Operation> operations(String pattern) {
    if (pattern.equals("*")) {
      return everyCall();
    }
    if (!pattern.endsWith("*")) {
      return Set.of(Operation.named(pattern));
    }
    String prefix =
        pattern.substring(0, pattern.length() - 1).replace('-', '_').toUpperCase(Locale.ROOT);
    Set<Operation> matching = EnumSet.noneOf(Operation.class);
    for (Operation operation : Operation.values()) {
      if (operation.name().startsWith(prefix)) {
        matching.add(operation);
      }
    }
    if (matching.isEmpty()) {
      throw new IllegalArgumentException("no operation begins with '" + prefix + "'");
    }
    return matching;
  }

  private static Set<Operation> everyCall() {
    Set<Operation> all = EnumSet.allOf(Operation.class);
    all.removeIf(Operation::isThreadBookkeeping);
    return all;
  }

  private static long number(String text) {
    try {
      return text.startsWith("0x") ? Long.parseLong(text.substring(2), 16) : Long.parseLong(text);
    } catch (NumberFormatException wrong) {
      throw new IllegalArgumentException("'" + text + "' is not a number", wrong);
    }
  }

  private static int code(String text) {
    long code = number(text);
    if (code != (int) code) {
      throw new IllegalArgumentException("'" + text + "' is no code: it does not fit into 32 bits");
    }
    return (int) code;
  }

  private static long nanos(String text) {
    if (text.endsWith("ns")) {
      return number(text.substring(0, text.length() - 2));
    } else if (text.endsWith("us")) {
      return TimeUnit.MICROSECONDS.toNanos(number(text.substring(0, text.length() - 2)));
    } else if (text.endsWith("ms")) {
      return TimeUnit.MILLISECONDS.toNanos(number(text.substring(0, text.length() - 2)));
    } else if (text.endsWith("s")) {
      return TimeUnit.SECONDS.toNanos(number(text.substring(0, text.length() - 1)));
    }
    throw new IllegalArgumentException("'" + text + "' is not a time such as 2ms, 300us, 1s");
  }

  /**
   * One rule.
   *
   * @param operations which calls it counts
   * @param when at which of them it strikes
   * @param action what happens then
   */
  public record Rule(Set<Operation> operations, When when, Action action) {
    /** Checks and copies. */
    public Rule {
      operations = Set.copyOf(operations);
      Objects.requireNonNull(when, "when");
      Objects.requireNonNull(action, "action");
    }

    boolean matches(Operation operation) {
      return operations.contains(operation);
    }

    boolean strikesAt(long seen) {
      return switch (when) {
        case At(long first, long last) -> seen >= first && seen <= last;
        case Every(long period) -> seen % period == 0;
      };
    }
  }

  /** At which of the calls it counts a rule strikes. */
  public sealed interface When {}

  /**
   * From one call to another.
   *
   * @param first the first call is 1
   * @param last the same for a single call
   */
  public record At(long first, long last) implements When {
    /** Checks. */
    public At {
      if (first < 1 || last < first) {
        throw new IllegalArgumentException("calls are counted from 1: " + first + ".." + last);
      }
    }
  }

  /**
   * Again and again.
   *
   * @param period every so many calls
   */
  public record Every(long period) implements When {
    /** Checks. */
    public Every {
      if (period < 1) {
        throw new IllegalArgumentException("a period is at least 1, not " + period);
      }
    }
  }

  /** What happens to the call. */
  public sealed interface Action {}

  /**
   * It is refused and has no effect.
   *
   * @param code with which answer
   */
  public record Fail(int code) implements Action {
    /** Checks. */
    public Fail {
      if (code == 0) {
        throw new IllegalArgumentException("0 is not a failure");
      }
    }
  }

  /**
   * It takes longer, on the machine's clock.
   *
   * @param nanos how much
   */
  public record Delay(long nanos) implements Action {
    /** Checks. */
    public Delay {
      if (nanos < 0) {
        throw new IllegalArgumentException("a delay is not negative: " + nanos + " ns");
      }
    }
  }

  /**
   * It does not return until released, then does what it should.
   *
   * @param name under which it is released
   */
  public record Hang(String name) implements Action {
    /** Checks. */
    public Hang {
      Objects.requireNonNull(name, "name");
    }
  }

  /**
   * The device is gone: this and every later call answers so, and queued work is dropped.
   *
   * @param code with which answer
   */
  public record LoseDevice(int code) implements Action {
    /** Checks. */
    public LoseDevice {
      if (code == 0) {
        throw new IllegalArgumentException("0 is not a failure");
      }
    }
  }
}
