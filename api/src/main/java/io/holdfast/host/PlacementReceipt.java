package io.holdfast.host;

import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * What a region really got, by the kernel's account.
 *
 * @param bytesPerNode by node id; empty where the kernel does not say
 * @param bytesPerPageSize by page size
 * @param sampledShare 1.0 when every page was asked, 0 when none could be
 * @param bytesElsewhere on nodes that were not asked for
 * @param map time to map
 * @param populate time to populate
 * @param populateThreads as found by measuring
 * @param notes fallbacks and warnings, each with its reason
 */
public record PlacementReceipt(
    Map<Integer, Long> bytesPerNode,
    Map<Long, Long> bytesPerPageSize,
    double sampledShare,
    long bytesElsewhere,
    Duration map,
    Duration populate,
    int populateThreads,
    List<String> notes) {
  /** Copies. */
  public PlacementReceipt {
    bytesPerNode = Collections.unmodifiableMap(new TreeMap<>(bytesPerNode));
    bytesPerPageSize = Collections.unmodifiableMap(new TreeMap<>(bytesPerPageSize));
    notes = List.copyOf(notes);
  }

  /**
   * The receipt as one JSON object.
   *
   * @return one line
   */
  public String toJson() {
    return io.holdfast.internal.host.ReceiptJson.of(this);
  }
}
