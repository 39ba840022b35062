package io.holdfast.internal.config;

import io.holdfast.host.HostRequest;
import io.holdfast.host.HostRequest.Touch;
import io.holdfast.host.NumaPolicy;
import io.holdfast.host.PageKind;
import io.holdfast.layout.BlockLayout;
import io.holdfast.layout.Plane;
import java.math.BigDecimal;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/** Host requests from the keys that people know from vLLM. */
public final class ConfigKeys {
  private static final String BYTES = "cpu_bytes_to_use_per_rank";
  private static final String HUGE_PAGE = "cpu_hugepage_block_size";
  private static final String POOL_GIB = "host_pool_gib";
  private static final String POOL_DIRECTORY = "host_pool_dir";
  private static final String NODE = "cpu_numa_node";
  private static final String PREFAULT = "cpu_prefault";
  private static final String TRANSPARENT = "THP_MEM_ALLOC_ENABLE";

  private static final List<String> KNOWN =
      List.of(BYTES, HUGE_PAGE, POOL_GIB, POOL_DIRECTORY, NODE, PREFAULT, TRANSPARENT);

  private static final BigDecimal GIB = BigDecimal.valueOf(1L << 30);

  private static final int MOST_CHARACTERS = 100;

  /** Before the point; a long has that many. */
  private static final int MOST_DIGITS = 19;

  private final Map<String, ?> config;

  private ConfigKeys(Map<String, ?> config) {
    this.config = config;
  }

  /**
   * Reads a configuration.
   *
   * <p>The bytes are a budget: the request is for as many whole blocks as fit, at least one,
   * padding between blocks included. A null value is as good as no key. {@code
   * THP_MEM_ALLOC_ENABLE} counts for ordinary pages only and means nothing beside huge pages or a
   * directory.
   *
   * @param config keys and values, as a configuration file gives them: texts, numbers, booleans
   * @param layout where the parts of blocks lie; how many blocks it has does not matter
   * @return the request
   * @throws IllegalArgumentException names the key, the value and what is accepted
   */
  public static HostRequest hostRequest(Map<String, ?> config, BlockLayout layout) {
    return new ConfigKeys(config).request(layout);
  }

  private HostRequest request(BlockLayout layout) {
    Set<String> unknown = new TreeSet<>(config.keySet());
    KNOWN.forEach(unknown::remove);
    if (!unknown.isEmpty()) {
      throw new IllegalArgumentException(
          "unknown key "
              + String.join(", ", unknown)
              + "; accepted are "
              + String.join(", ", KNOWN));
    }
    long blockBytes = 0;
    for (Plane row : layout.rows()) {
      blockBytes = Math.addExact(blockBytes, row.strideBytes());
    }
    long blocks = Math.max(1, budgetBytes() / blockBytes);
    PageKind pages = pages();
    HostRequest request =
        HostRequest.ofBytes(Math.multiplyExact(blocks, blockBytes)).pages(pages).numa(numa());
    if (prefault()) {
      return request;
    }
    if (!(pages instanceof PageKind.Base)) {
      throw refused(PREFAULT, "true, or nothing, on " + pages.describe());
    }
    return request.touch(Touch.LAZILY);
  }

  private long budgetBytes() {
    Optional<String> bytes = text(BYTES);
    Optional<String> gib = text(POOL_GIB);
    if (bytes.isPresent() == gib.isPresent()) {
      throw new IllegalArgumentException(
          "exactly one of " + BYTES + " and " + POOL_GIB + " is needed");
    }
    return bytes.isPresent()
        ? amount(BYTES, BigDecimal.ONE, "a positive whole number of bytes")
        : amount(POOL_GIB, GIB, "a positive number of GiB");
  }

  private long amount(String key, BigDecimal unit, String accepted) {
    try {
      if (isBoolean(key)) {
        throw refused(key, accepted);
      }
      String text = text(key).orElseThrow().strip();
      if (text.length() > MOST_CHARACTERS) {
        throw refused(key, accepted);
      }
      BigDecimal number = new BigDecimal(text);
      // A power of ten is written in few characters and worked out in many: never before a look.
      long digits = (long) number.precision() - number.scale();
      if (number.signum() <= 0
          || digits > MOST_DIGITS
          || digits < -MOST_DIGITS
          || (unit.compareTo(BigDecimal.ONE) == 0 && number.stripTrailingZeros().scale() > 0)) {
        throw refused(key, accepted);
      }
      BigDecimal bytes = number.multiply(unit);
      return bytes.toBigInteger().longValueExact();
    } catch (ArithmeticException | NumberFormatException no) {
      throw refused(key, accepted);
    }
  }

  private PageKind pages() {
    Optional<Long> huge = hugePageBytes();
    Optional<String> directory = text(POOL_DIRECTORY);
    if (directory.isPresent()) {
      Path path = path(directory.get());
      return huge.isPresent() ? PageKind.directory(path, huge.get()) : PageKind.directory(path);
    }
    if (huge.isPresent()) {
      return PageKind.hugeTlb(huge.get());
    }
    return transparent() ? PageKind.thp() : PageKind.base();
  }

  private Path path(String text) {
    try {
      if (text.isBlank()) {
        throw refused(POOL_DIRECTORY, "a directory");
      }
      return Path.of(text);
    } catch (InvalidPathException no) {
      throw refused(POOL_DIRECTORY, "a directory");
    }
  }

  private Optional<Long> hugePageBytes() {
    Optional<String> text = text(HUGE_PAGE);
    if (text.isEmpty()) {
      return Optional.empty();
    }
    return switch (text.get().toLowerCase(Locale.ROOT)) {
      case "2mb" -> Optional.of(2L << 20);
      case "1gb" -> Optional.of(1L << 30);
      case "none" -> Optional.empty();
      default -> throw refused(HUGE_PAGE, "2MB, 1GB, none");
    };
  }

  private boolean transparent() {
    Optional<String> text = text(TRANSPARENT);
    if (text.isEmpty()) {
      return false;
    }
    return switch (text.get()) {
      case "1" -> true;
      case "0", "" -> false;
      default -> throw refused(TRANSPARENT, "1, 0");
    };
  }

  private NumaPolicy numa() {
    Optional<String> text = text(NODE);
    if (text.isEmpty()
        || text.get().equals("-1")
        || text.get().toLowerCase(Locale.ROOT).equals("none")) {
      return NumaPolicy.inherit();
    }
    if (isBoolean(NODE) || !text.get().matches("[0-9]{1,6}")) {
      throw refused(NODE, "a node's number, -1, none");
    }
    return NumaPolicy.bind(Integer.parseInt(text.get()));
  }

  private boolean prefault() {
    Optional<String> text = text(PREFAULT);
    if (text.isEmpty()) {
      return true;
    }
    return switch (text.get().toLowerCase(Locale.ROOT)) {
      case "true" -> true;
      case "false" -> false;
      default -> throw refused(PREFAULT, "true, false");
    };
  }

  private boolean isBoolean(String key) {
    return config.get(key) instanceof Boolean;
  }

  private Optional<String> text(String key) {
    return Optional.ofNullable(config.get(key)).map(Object::toString);
  }

  private IllegalArgumentException refused(String key, String accepted) {
    String text = String.valueOf(config.get(key));
    String shown =
        text.length() > MOST_CHARACTERS ? text.substring(0, MOST_CHARACTERS) + "..." : text;
    return new IllegalArgumentException(key + " is '" + shown + "'; accepted: " + accepted);
  }
}
