package io.holdfast;

import io.holdfast.error.Category;
import io.holdfast.error.HoldfastException;
import java.io.Serial;
import org.jspecify.annotations.Nullable;

/** No backend could be selected. */
@SuppressWarnings("exports") // naming @Nullable binds nobody to have it
public final class BackendUnavailableException extends HoldfastException {
  @Serial private static final long serialVersionUID = 1L;

  /** Everything tried. */
  private final transient Transcript transcript;

  /**
   * Says what was wanted and carries all that was seen.
   *
   * @param wanted what could not be had, in one sentence without a full stop
   * @param remedy what to do
   * @param transcript everything tried
   * @param cause what was thrown, where something was
   */
  public BackendUnavailableException(
      String wanted, String remedy, Transcript transcript, @Nullable Throwable cause) {
    super(
        Category.UNAVAILABLE,
        "Backends.select",
        wanted,
        remedy + "\n" + transcript.describe().stripTrailing(),
        cause);
    this.transcript = transcript;
  }

  /**
   * Everything tried.
   *
   * @return the transcript
   */
  public Transcript transcript() {
    return transcript;
  }
}
