package io.holdfast.conformance.tap;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** One call that policy made to a port. Any thread; its outcome is seen once it has one. */
public final class Call {
  private final long number;
  private final String name;
  private final List<@Nullable Object> arguments;
  private final List<Row> rows;
  private final Thread thread;
  private volatile @Nullable Object result;
  private volatile @Nullable Throwable failure;
  private volatile boolean ended;

  Call(long number, String name, List<@Nullable Object> arguments, List<Row> rows) {
    this.number = number;
    this.name = name;
    this.arguments = arguments;
    this.rows = rows;
    this.thread = Thread.currentThread();
  }

  void end(@Nullable Object what) {
    result = what;
    ended = true;
  }

  void fail(Throwable why) {
    failure = why;
    ended = true;
  }

  /**
   * Its place among all calls, by when it began.
   *
   * @return 0 for the first
   */
  public long number() {
    return number;
  }

  /**
   * Which call.
   *
   * @return port and method, for example {@code DevicePort.register}
   */
  public String name() {
    return name;
  }

  /**
   * One argument.
   *
   * @param <T> of this type
   * @param type of this type
   * @param index which
   * @return the argument
   */
  public <T> T argument(Class<T> type, int index) {
    Object argument = arguments.get(index);
    if (argument == null) {
      throw new IllegalStateException("argument " + index + " is null: " + this);
    }
    return type.cast(argument);
  }

  /**
   * The rows of a copy call, as they were when it began.
   *
   * @return empty for other calls
   */
  public List<Row> rows() {
    return rows;
  }

  /**
   * Who called.
   *
   * @return the thread
   */
  public Thread thread() {
    return thread;
  }

  /**
   * What it answered.
   *
   * @param <T> of this type
   * @param type of this type
   * @return the answer
   */
  public <T> T result(Class<T> type) {
    Object answer = result;
    if (answer == null) {
      throw new IllegalStateException("there is no answer: " + this);
    }
    return type.cast(answer);
  }

  /**
   * Whether it has returned and was not refused.
   *
   * @return true when it worked
   */
  public boolean worked() {
    return ended && failure == null;
  }

  @Override
  public String toString() {
    return number + " " + name + arguments + (failure == null ? "" : " refused: " + failure);
  }

  /**
   * One copy.
   *
   * @param destination as the driver takes it
   * @param source as the driver takes it
   * @param bytes how many
   */
  public record Row(long destination, long source, long bytes) {}
}
