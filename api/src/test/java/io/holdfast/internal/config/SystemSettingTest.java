package io.holdfast.internal.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.error.Category;
import io.holdfast.error.SettingException;
import java.util.OptionalLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class SystemSettingTest {
  private static final String NAME = "holdfast.test.setting";

  @AfterEach
  void forget() {
    System.clearProperty(NAME);
  }

  private static OptionalLong number(String value) {
    System.setProperty(NAME, value);
    return SystemSetting.number(NAME, 1, 8);
  }

  @Test
  void a_number_within_its_bounds_is_taken_and_an_absent_one_is_none() {
    assertEquals(OptionalLong.empty(), SystemSetting.number(NAME, 1, 8));
    assertEquals(OptionalLong.empty(), number(" "));
    assertEquals(OptionalLong.of(1), number("1"));
    assertEquals(OptionalLong.of(8), number(" 8 "));
  }

  @ParameterizedTest
  @ValueSource(strings = {"0", "9", "-1", "x", "1.5", "0x4", "9223372036854775808"})
  void anything_else_is_refused_by_name(String value) {
    SettingException refused = assertThrows(SettingException.class, () -> number(value));

    assertEquals(NAME, refused.setting());
    assertEquals(value, refused.value());
    assertEquals(Category.SETTING, refused.category());
    assertEquals(
        "the system property "
            + NAME
            + " is '"
            + value
            + "', which is not a whole number 1 to 8. Set it so, or remove it",
        refused.getMessage());
  }

  @Test
  void a_word_is_one_of_those_that_are_known() {
    assertEquals("once", SystemSetting.word(NAME, "once", "never"));
    System.setProperty(NAME, "never");
    assertEquals("never", SystemSetting.word(NAME, "once", "never"));
    System.setProperty(NAME, "Never");
    SettingException refused =
        assertThrows(SettingException.class, () -> SystemSetting.word(NAME, "once", "never"));
    assertTrue(refused.getMessage().contains("not once or never"), refused::getMessage);
  }
}
