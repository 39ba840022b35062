package io.holdfast.device;

import io.holdfast.device.RegionDescriptor.Share;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Reads the one form of JSON that descriptors have. It takes no more depth, no other kinds of
 * values and no escapes, so that hostile text costs no more than its length.
 */
final class DescriptorReader {
  private final String text;
  private int at;

  DescriptorReader(String text) {
    this.text = text;
  }

  RegionDescriptor read() {
    if (text.length() > RegionDescriptor.MOST_CHARACTERS) {
      throw new IllegalArgumentException(
          String.format(
              Locale.ROOT,
              "a descriptor of %d characters is longer than any: at most %d",
              text.length(),
              RegionDescriptor.MOST_CHARACTERS));
    }
    Map<String, Object> fields = object(Depth.REGION);
    space();
    if (at != text.length()) {
      throw wrong("the end");
    }
    require("holdfast", "region", take(fields, "holdfast", String.class));
    require("version", 1L, take(fields, "version", Long.class));
    HandleKind kind = kind(take(fields, "kind", String.class));
    long pid = take(fields, "pid", Long.class);
    String token = take(fields, "token", String.class);
    String device = take(fields, "device", String.class);
    long epoch = take(fields, "epoch", Long.class);
    long blocks = take(fields, "blocks", Long.class);
    List<Share> shares = new ArrayList<>();
    for (Object each : take(fields, "segments", Segments.class).list()) {
      shares.add((Share) each);
    }
    refuseOthers(fields);
    return new RegionDescriptor(kind, pid, token, device, epoch, blocks, shares);
  }

  private static HandleKind kind(String name) {
    for (HandleKind kind : HandleKind.values()) {
      if (kind.name().equals(name)) {
        return kind;
      }
    }
    throw new IllegalArgumentException("the descriptor has a kind of handle that is not known");
  }

  private static Share share(Map<String, Object> fields) {
    long physical = take(fields, "physicalBytes", Long.class);
    long logical = take(fields, "logicalBytes", Long.class);
    long stride = take(fields, "strideBytes", Long.class);
    Share share;
    if (fields.containsKey("fabric")) {
      share = new Share(physical, logical, stride, -1, take(fields, "fabric", String.class));
      if (share.fabricHandle().isEmpty()) {
        throw new IllegalArgumentException("the descriptor has an empty fabric handle");
      }
    } else {
      long descriptor = take(fields, "fd", Long.class);
      if (descriptor > Integer.MAX_VALUE) {
        throw new IllegalArgumentException("no file descriptor is as large as " + descriptor);
      }
      share = Share.ofFile(physical, logical, stride, (int) descriptor);
    }
    refuseOthers(fields);
    return share;
  }

  private static <T> T take(Map<String, Object> fields, String name, Class<T> kind) {
    Object value = fields.remove(name);
    if (value == null) {
      throw new IllegalArgumentException("the descriptor lacks the field " + name);
    }
    if (!kind.isInstance(value)) {
      throw new IllegalArgumentException(
          "the descriptor's field " + name + " has the wrong kind of value");
    }
    return kind.cast(value);
  }

  private static void require(String name, Object expected, Object value) {
    if (!expected.equals(value)) {
      throw new IllegalArgumentException(
          "the descriptor's field " + name + " must be " + expected + " and is not");
    }
  }

  private static void refuseOthers(Map<String, Object> left) {
    if (!left.isEmpty()) {
      throw new IllegalArgumentException(
          "the descriptor has " + left.size() + " fields that are not known");
    }
  }

  // ---- the grammar

  private Map<String, Object> object(Depth depth) {
    Map<String, Object> fields = new LinkedHashMap<>();
    expect('{');
    do {
      String name = string();
      expect(':');
      if (fields.put(name, value(depth)) != null) {
        throw wrong("a field that was not given before");
      }
    } while (more('}'));
    return fields;
  }

  private Object value(Depth depth) {
    space();
    char first = at < text.length() ? text.charAt(at) : 0;
    if (first == '"') {
      return string();
    }
    if (first >= '0' && first <= '9') {
      return number();
    }
    if (first == '[' && depth == Depth.REGION) {
      return segments();
    }
    throw wrong("a string, a number" + (depth == Depth.REGION ? " or a list" : ""));
  }

  private Segments segments() {
    List<Share> shares = new ArrayList<>();
    expect('[');
    do {
      if (shares.size() == RegionDescriptor.MOST_SHARES) {
        throw wrong("no more than " + RegionDescriptor.MOST_SHARES + " segments");
      }
      shares.add(share(object(Depth.SEGMENT)));
    } while (more(']'));
    return new Segments(shares);
  }

  private String string() {
    expect('"');
    int end = text.indexOf('"', at);
    if (end < 0) {
      throw wrong("a string that ends");
    }
    for (int i = at; i < end; i++) {
      char one = text.charAt(i);
      if (one == '\\' || one < ' ' || one > '~') {
        at = i;
        throw wrong("a printable ASCII character without escapes");
      }
    }
    String inside = text.substring(at, end);
    at = end + 1;
    return inside;
  }

  private Long number() {
    int from = at;
    long number = 0;
    while (at < text.length() && text.charAt(at) >= '0' && text.charAt(at) <= '9') {
      int digit = text.charAt(at) - '0';
      if (number > (Long.MAX_VALUE - digit) / 10) {
        throw wrong("a number that fits 63 bits");
      }
      number = 10 * number + digit;
      at++;
    }
    if (at - from > 1 && text.charAt(from) == '0') {
      at = from;
      throw wrong("a number without leading zeros");
    }
    return number;
  }

  /** A comma, or the end. */
  private boolean more(char end) {
    space();
    if (at < text.length() && text.charAt(at) == ',') {
      at++;
      return true;
    }
    expect(end);
    return false;
  }

  private void expect(char one) {
    space();
    if (at >= text.length() || text.charAt(at) != one) {
      throw wrong("'" + one + "'");
    }
    at++;
  }

  private void space() {
    while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
      at++;
    }
  }

  private IllegalArgumentException wrong(String wanted) {
    return new IllegalArgumentException(
        "the descriptor must have " + wanted + " at character " + at + " of " + text.length());
  }

  private record Segments(List<Share> list) {}

  private enum Depth {
    REGION,
    SEGMENT
  }
}
