package io.holdfast.internal.host;

import io.holdfast.host.PlacementReceipt;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/** Receipts as JSON (RFC 8259), on one line. */
public final class ReceiptJson {
  private ReceiptJson() {}

  /**
   * Writes a receipt.
   *
   * @param receipt the receipt
   * @return one object; byte counts by node and page size are objects whose names are the numbers,
   *     times are whole nanoseconds
   */
  public static String of(PlacementReceipt receipt) {
    return "{\"bytesPerNode\":"
        + object(receipt.bytesPerNode())
        + ",\"bytesPerPageSize\":"
        + object(receipt.bytesPerPageSize())
        + ",\"sampledShare\":"
        + receipt.sampledShare()
        + ",\"bytesElsewhere\":"
        + receipt.bytesElsewhere()
        + ",\"mapNanos\":"
        + receipt.map().toNanos()
        + ",\"populateNanos\":"
        + receipt.populate().toNanos()
        + ",\"populateThreads\":"
        + receipt.populateThreads()
        + ",\"notes\":"
        + receipt.notes().stream()
            .map(ReceiptJson::quoted)
            .collect(Collectors.joining(",", "[", "]"))
        + "}";
  }

  private static String object(Map<?, Long> numbers) {
    return numbers.entrySet().stream()
        .map(entry -> "\"" + entry.getKey() + "\":" + entry.getValue())
        .collect(Collectors.joining(",", "{", "}"));
  }

  private static String quoted(String text) {
    StringBuilder quoted = new StringBuilder("\"");
    for (int at = 0; at < text.length(); at++) {
      char letter = text.charAt(at);
      switch (letter) {
        case '"' -> quoted.append("\\\"");
        case '\\' -> quoted.append("\\\\");
        case '\n' -> quoted.append("\\n");
        case '\r' -> quoted.append("\\r");
        case '\t' -> quoted.append("\\t");
        default -> {
          if (letter < 0x20 || Character.isSurrogate(letter)) {
            quoted.append(String.format(Locale.ROOT, "\\u%04x", (int) letter));
          } else {
            quoted.append(letter);
          }
        }
      }
    }
    return quoted.append('"').toString();
  }
}
