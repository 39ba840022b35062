package io.holdfast.error;

import java.io.Serial;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Root of everything Holdfast throws that is not plain misuse of the API.
 *
 * <p>The message has what failed, the numbers, and the remedy, in that order. Programs branch on
 * the type and on {@link #category()}, never on the text.
 */
@SuppressWarnings("exports") // naming @Nullable binds nobody to have it
public abstract class HoldfastException extends RuntimeException {
  @Serial private static final long serialVersionUID = 1L;

  /** The kind of trouble. */
  private final Category category;

  /** The call that failed. */
  private final String operation;

  /** What the reader can do. */
  private final String remedy;

  /**
   * What failed with its numbers, then what to do next.
   *
   * @param category the kind of trouble
   * @param operation the call that failed, by its native name where it has one
   * @param what one sentence with the numbers, without a full stop at the end
   * @param remedy one sentence that tells what to do next; may be empty where nothing helps
   * @param cause the error below, where there is one
   */
  protected HoldfastException(
      Category category, String operation, String what, String remedy, @Nullable Throwable cause) {
    super(remedy.isEmpty() ? what : what + ". " + remedy, cause);
    this.category = Objects.requireNonNull(category, "category");
    this.operation = Objects.requireNonNull(operation, "operation");
    this.remedy = remedy;
  }

  /**
   * The kind of trouble.
   *
   * @return the category
   */
  public final Category category() {
    return category;
  }

  /**
   * The call that failed, by its native name where it has one.
   *
   * @return the operation's name
   */
  public final String operation() {
    return operation;
  }

  /**
   * What the reader can do about it.
   *
   * @return one sentence, or the empty string
   */
  public final String remedy() {
    return remedy;
  }
}
