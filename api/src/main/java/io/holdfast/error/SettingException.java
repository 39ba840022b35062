package io.holdfast.error;

import java.io.Serial;
import org.jspecify.annotations.Nullable;

/** A system property says what cannot be understood or used; nothing was done. */
@SuppressWarnings("exports") // naming @Nullable binds nobody to have it
public final class SettingException extends HoldfastException {
  @Serial private static final long serialVersionUID = 1L;

  /** The property. */
  private final String setting;

  /** What it says. */
  private final String value;

  /**
   * Names the property, what it says and what it should say.
   *
   * @param setting the system property
   * @param value what it says
   * @param expected what it should say, after the word "not": {@code a number of bytes}
   * @param cause the error below, where there is one
   */
  public SettingException(
      String setting, String value, String expected, @Nullable Throwable cause) {
    super(
        Category.SETTING,
        setting,
        "the system property " + setting + " is '" + value + "', which is not " + expected,
        "Set it so, or remove it",
        cause);
    this.setting = setting;
    this.value = value;
  }

  /**
   * The property.
   *
   * @return its name
   */
  public String setting() {
    return setting;
  }

  /**
   * What it says.
   *
   * @return its value
   */
  public String value() {
    return value;
  }
}
