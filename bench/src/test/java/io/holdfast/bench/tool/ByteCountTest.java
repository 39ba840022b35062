package io.holdfast.bench.tool;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Sizes on the command line. */
final class ByteCountTest {
  @ParameterizedTest
  @CsvSource({
    "1, 1",
    "4096, 4096",
    "1k, 1024",
    "64KiB, 65536",
    "64 kib, 65536",
    "1m, 1048576",
    "3MiB, 3145728",
    "2g, 2147483648",
    "1GiB, 1073741824",
    "1t, 1099511627776",
    "8388607TiB, 9223370937343148032",
    "9223372036854775807, 9223372036854775807"
  })
  void a_size_is_read(String text, long bytes) {
    assertEquals(bytes, ByteCount.parse(text).bytes());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        " ",
        "0",
        "0k",
        "-1",
        "1.5g",
        "1KB",
        "2MB",
        "1GB",
        "1e9",
        "k",
        "0x10",
        "1 2",
        "9223372036854775808",
        "8388608TiB",
        "99999999999999999999",
        "1kibi",
        "１k"
      })
  void what_is_no_size_is_refused_in_one_sentence(String text) {
    IllegalArgumentException refused =
        assertThrows(IllegalArgumentException.class, () -> ByteCount.parse(text));

    assertEquals(-1, refused.getMessage().indexOf('\n'));
  }

  @Test
  void a_size_is_described_in_the_unit_that_fits() {
    assertEquals("1 GiB", ByteCount.describe(1L << 30));
    assertEquals("1.50 KiB", ByteCount.describe(1536));
    assertEquals("17 bytes", ByteCount.describe(17));
  }
}
