package io.holdfast.bench.experiment;

import io.holdfast.bench.tool.ByteCount;
import io.holdfast.host.PageKind;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;

/**
 * What was asked for.
 *
 * @param backend id
 * @param ordinal of the device
 * @param pages what backs host memory, one after another; empty: as the experiment sees fit
 * @param bytes how much; empty: as the experiment sees fit
 * @param rounds how often each measurement is taken
 * @param yardsticks whether C and PyTorch take part
 * @param more further settings of single experiments
 */
record Settings(
    String backend,
    int ordinal,
    List<PageKind> pages,
    OptionalLong bytes,
    int rounds,
    boolean yardsticks,
    Map<String, String> more) {
  Settings {
    pages = List.copyOf(pages);
    more = Map.copyOf(more);
  }

  /** Whether a simulator stands in for the device, so that sizes are small. */
  boolean simulated() {
    return backend.startsWith("cpu-sim");
  }

  /** Whether the CUDA driver is there for the yardsticks. */
  boolean cuda() {
    return backend.equals("cuda") || backend.startsWith("cuda:");
  }

  /** The size asked for, or one for hardware and one for a simulator. */
  long bytes(long onHardware, long simulated) {
    return bytes.orElse(simulated() ? simulated : onHardware);
  }

  /** The pages asked for, or these. */
  List<PageKind> pagesOr(PageKind... otherwise) {
    return pages.isEmpty() ? List.of(otherwise) : pages;
  }

  /** A further setting that is a whole number. */
  long number(String key, long otherwise) {
    String value = more.get(key);
    return value == null ? otherwise : Long.parseLong(value);
  }

  /** A further setting that is a size. */
  long size(String key, long onHardware, long simulated) {
    String value = more.get(key);
    if (value == null) {
      return simulated() ? simulated : onHardware;
    }
    return ByteCount.parse(value).bytes();
  }

  /** A further setting that is a list of words; none unless it is given. */
  List<String> list(String key) {
    String value = more.get(key);
    return value == null ? List.of() : List.of(value.split(","));
  }

  /** A further setting that is a list of sizes. */
  List<Long> sizes(String key, Long... otherwise) {
    String value = more.get(key);
    if (value == null) {
      return List.of(otherwise);
    }
    return List.of(value.split(",")).stream().map(one -> ByteCount.parse(one).bytes()).toList();
  }
}
