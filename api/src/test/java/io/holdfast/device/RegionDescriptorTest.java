package io.holdfast.device;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.device.RegionDescriptor.Share;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.SplittableRandom;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What one process writes another reads; and whatever else it is given it refuses. */
final class RegionDescriptorTest {
  private static final RegionDescriptor BY_FILE =
      new RegionDescriptor(
          HandleKind.POSIX_FD,
          4242,
          "0d9e2b1c-token",
          "GPU-4f0a:1",
          7,
          40,
          List.of(
              Share.ofFile(4L << 20, 40 * 65_536L, 65_536, 17),
              Share.ofFile(4L << 20, 39 * 98_304L + 4096, 98_304, Integer.MAX_VALUE)));

  private static final String TEXT =
      "{\"holdfast\":\"region\",\"version\":1,\"kind\":\"POSIX_FD\",\"pid\":4242,"
          + "\"token\":\"0d9e2b1c-token\",\"device\":\"GPU-4f0a:1\",\"epoch\":7,\"blocks\":40,"
          + "\"segments\":[{\"physicalBytes\":4194304,\"logicalBytes\":2621440,"
          + "\"strideBytes\":65536,\"fd\":17},{\"physicalBytes\":4194304,\"logicalBytes\":3837952,"
          + "\"strideBytes\":98304,\"fd\":2147483647}]}";

  @Test
  void the_text_is_one_line_that_says_everything() {
    assertEquals(TEXT, BY_FILE.text());
    assertEquals(TEXT, BY_FILE.toString());
  }

  @Test
  void parsing_gives_the_same_back_whatever_the_spaces_and_the_order() {
    assertEquals(BY_FILE, RegionDescriptor.parse(TEXT));
    assertEquals(
        BY_FILE,
        RegionDescriptor.parse(
            TEXT.replace(",", " ,\n\t").replace(":", " : ").replace("GPU-4f0a : 1", "GPU-4f0a:1")));
    assertEquals(
        BY_FILE,
        RegionDescriptor.parse(
            TEXT.replace("\"epoch\":7,\"blocks\":40", "\"blocks\":40,\"epoch\":7")));
  }

  @Test
  void a_fabric_handle_is_128_digits() {
    byte[] handle = new byte[64];
    handle[63] = -1;
    RegionDescriptor fabric =
        new RegionDescriptor(
            HandleKind.FABRIC, 1, "t", "", 0, 1, List.of(Share.ofFabric(1, 1, 1, handle)));

    assertTrue(fabric.text().contains("\"fabric\":\"" + "0".repeat(126) + "ff\""));
    assertEquals(fabric, RegionDescriptor.parse(fabric.text()));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        " ",
        "null",
        "[]",
        "{}",
        "{",
        "\"region\"",
        "{\"holdfast\":\"region\"}",
        "{\"holdfast\":\"region\",}",
        "{\"holdfast\" \"region\"}",
        "{holdfast:1}",
        "{\"holdfast\":\"region\"",
        "{\"holdfast\":\"region",
      })
  void what_is_no_descriptor_is_refused(String text) {
    assertThrows(IllegalArgumentException.class, () -> RegionDescriptor.parse(text));
  }

  @Test
  void every_way_to_bend_a_descriptor_is_refused() {
    List<String[]> bends =
        List.of(
            new String[] {"\"version\":1", "\"version\":2"},
            new String[] {"\"version\":1", "\"version\":\"1\""},
            new String[] {"\"holdfast\":\"region\"", "\"holdfast\":\"pool\""},
            new String[] {"\"POSIX_FD\"", "\"posix_fd\""},
            new String[] {"\"POSIX_FD\"", "\"FABRIC\""},
            new String[] {"\"pid\":4242", "\"pid\":0"},
            new String[] {"\"pid\":4242", "\"pid\":-1"},
            new String[] {"\"pid\":4242", "\"pid\":04242"},
            new String[] {"\"pid\":4242", "\"pid\":4242.0"},
            new String[] {"\"pid\":4242", "\"pid\":4e3"},
            new String[] {"\"pid\":4242", "\"pid\":true"},
            new String[] {"\"pid\":4242", "\"pid\":null"},
            new String[] {"\"pid\":4242", "\"pid\":[]"},
            new String[] {"\"pid\":4242", "\"pid\":{}"},
            new String[] {"\"pid\":4242", "\"pid\":9223372036854775808"},
            new String[] {"\"pid\":4242", "\"pid\":99999999999999999999999999"},
            new String[] {"\"pid\":4242,", ""},
            new String[] {"\"pid\":4242", "\"pid\":4242,\"pid\":4242"},
            new String[] {"\"pid\":4242", "\"pid\":4242,\"path\":\"/etc/shadow\""},
            new String[] {"\"epoch\":7", "\"epoch\":-7"},
            new String[] {"\"blocks\":40", "\"blocks\":0"},
            new String[] {"\"blocks\":40", "\"blocks\":41"},
            new String[] {"0d9e2b1c-token", "0d9e\\u0041"},
            new String[] {"0d9e2b1c-token", "a b"},
            new String[] {"0d9e2b1c-token", "a\nb"},
            new String[] {"0d9e2b1c-token", "\u00e9"},
            new String[] {"0d9e2b1c-token", "x".repeat(129)},
            new String[] {"\"fd\":17", "\"fd\":2147483648"},
            new String[] {"\"fd\":17", "\"fd\":\"17\""},
            new String[] {"\"fd\":17", "\"fabric\":\"\""},
            new String[] {"\"fd\":17", "\"fabric\":\"" + "0".repeat(128) + "\""},
            new String[] {"\"fd\":17", "\"fd\":17,\"fabric\":\"00\""},
            new String[] {"\"fd\":17", "\"fd\":17,\"segments\":[]"},
            new String[] {
              "\"physicalBytes\":4194304,\"logicalBytes\":2",
              "\"physicalBytes\":0,\"logicalBytes\":2"
            },
            new String[] {"\"logicalBytes\":2621440", "\"logicalBytes\":4194305"},
            new String[] {"\"logicalBytes\":2621440", "\"logicalBytes\":0"},
            new String[] {"\"strideBytes\":65536", "\"strideBytes\":0"},
            new String[] {"\"strideBytes\":65536", "\"strideBytes\":9223372036854775807"},
            new String[] {"]}", "]}}"},
            new String[] {"]}", "]} x"},
            new String[] {"]}", ",]}"},
            new String[] {"]}", ",{}]}"},
            new String[] {"[{", "[[{"});
    for (String[] bend : bends) {
      String bent = TEXT.replaceFirst(Pattern.quote(bend[0]), Matcher.quoteReplacement(bend[1]));
      assertFalse(bent.equals(TEXT), "not bent: " + bend[0]);
      assertThrows(IllegalArgumentException.class, () -> RegionDescriptor.parse(bent), bent);
    }
  }

  @Test
  void sums_that_overflow_and_lists_without_end_are_refused() {
    String one =
        "{\"physicalBytes\":9223372036854775807,\"logicalBytes\":1,\"strideBytes\":1,\"fd\":1}";
    String head =
        "{\"holdfast\":\"region\",\"version\":1,\"kind\":\"POSIX_FD\",\"pid\":1,\"token\":\"t\","
            + "\"device\":\"\",\"epoch\":0,\"blocks\":1,\"segments\":[";
    assertEquals(1, RegionDescriptor.parse(head + one + "]}").shares().size());
    assertThrows(
        IllegalArgumentException.class,
        () -> RegionDescriptor.parse(head + one + "," + one + "]}"));
    String small = one.replace("9223372036854775807", "1");
    String full = head + String.join(",", Collections.nCopies(4096, small)) + "]}";
    assertEquals(4096, RegionDescriptor.parse(full).shares().size());
    String tooMany = head + String.join(",", Collections.nCopies(4097, small)) + "]}";
    assertThrows(IllegalArgumentException.class, () -> RegionDescriptor.parse(tooMany));
    String tooLong = TEXT + " ".repeat(2 << 20);
    assertThrows(IllegalArgumentException.class, () -> RegionDescriptor.parse(tooLong));
    assertThrows(
        IllegalArgumentException.class, () -> RegionDescriptor.parse("{".repeat(1_000_000)));
    assertThrows(
        IllegalArgumentException.class, () -> RegionDescriptor.parse("{\"a\":[".repeat(100_000)));
  }

  /** Seeded: bytes changed, cut and doubled; the seed is in every message. */
  @Test
  void text_that_was_tampered_with_is_refused_or_still_a_descriptor_and_nothing_else() {
    int refused = 0;
    for (long seed = 0; seed < 20_000; seed++) {
      SplittableRandom random = new SplittableRandom(seed);
      StringBuilder bent = new StringBuilder(TEXT);
      for (int change = random.nextInt(1, 4); change > 0 && !bent.isEmpty(); change--) {
        int at = random.nextInt(bent.length());
        switch (random.nextInt(4)) {
          case 0 -> bent.setCharAt(at, (char) random.nextInt(0x20, 0x7F));
          case 1 -> bent.deleteCharAt(at);
          case 2 -> bent.insert(at, bent.substring(at, Math.min(bent.length(), at + 9)));
          default -> bent.setLength(Math.max(1, at));
        }
      }
      try {
        RegionDescriptor parsed = RegionDescriptor.parse(bent.toString());
        assertEquals(parsed, RegionDescriptor.parse(parsed.text()), "seed " + seed);
      } catch (IllegalArgumentException refusal) {
        refused++;
      }
    }
    assertTrue(refused > 15_000, "only " + refused + " were refused");
  }

  @Test
  void descriptors_that_were_received_another_way_are_this_processs_own() {
    assertFalse(BY_FILE.isOfThisProcess());

    RegionDescriptor own = BY_FILE.received(List.of(5, 6));

    assertTrue(own.isOfThisProcess());
    assertEquals(ProcessHandle.current().pid(), own.exporterPid());
    assertEquals(6, own.shares().get(1).fileDescriptor());
    assertEquals(BY_FILE.shares().get(1).logicalBytes(), own.shares().get(1).logicalBytes());
    assertThrows(IllegalArgumentException.class, () -> BY_FILE.received(List.of(5)));
    assertThrows(IllegalArgumentException.class, () -> BY_FILE.received(List.of(5, -1)));
  }

  @Test
  void a_list_that_changes_later_changes_no_descriptor() {
    List<Share> shares = new ArrayList<>(BY_FILE.shares());
    RegionDescriptor made = RegionDescriptor.ofThisProcess(HandleKind.POSIX_FD, "", 0, 1, shares);
    shares.clear();

    assertEquals(2, made.shares().size());
  }
}
