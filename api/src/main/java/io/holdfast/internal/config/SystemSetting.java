package io.holdfast.internal.config;

import io.holdfast.error.SettingException;
import java.util.List;
import java.util.OptionalLong;

/** System properties of ours: what one says is understood, or refused by name. Any thread. */
public final class SystemSetting {
  private SystemSetting() {}

  /**
   * A whole number.
   *
   * @param property its name
   * @param least the smallest that makes sense
   * @param most the largest
   * @return the number; empty where the property is absent or blank
   * @throws SettingException where it says anything else
   */
  public static OptionalLong number(String property, long least, long most) {
    String text = System.getProperty(property, "").strip();
    if (text.isEmpty()) {
      return OptionalLong.empty();
    }
    try {
      long number = Long.parseLong(text);
      if (number >= least && number <= most) {
        return OptionalLong.of(number);
      }
    } catch (NumberFormatException _) {
      // said below
    }
    String range = most == Long.MAX_VALUE ? "of at least " + least : least + " to " + most;
    throw new SettingException(property, text, "a whole number " + range, null);
  }

  /**
   * One of a few words.
   *
   * @param property its name
   * @param words those it can be, the default first
   * @return one of them
   * @throws SettingException where it says anything else
   */
  public static String word(String property, String... words) {
    String text = System.getProperty(property, "").strip();
    if (text.isEmpty()) {
      return words[0];
    }
    if (!List.of(words).contains(text)) {
      throw new SettingException(property, text, String.join(" or ", words), null);
    }
    return text;
  }
}
