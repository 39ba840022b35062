package io.holdfast.backend.cpusim.driver;

import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** Reads personalities from their texts. Immutable; any thread. */
public final class Personalities {
  static final List<String> SHIPPED =
      List.of(
          "cuda-550",
          "cuda-580",
          "cuda-615",
          "hip-5.2",
          "hip-5.7",
          "hip-6.4",
          "hip-7.0",
          "hip-7.1",
          "hip-7.2",
          "hip-7.15");

  private Personalities() {}

  /**
   * A personality that comes along.
   *
   * @param id its name, for example {@code cuda-580}
   * @return the personality
   * @throws IllegalArgumentException where none has that name, with those there are
   */
  public static Personality named(String id) {
    return named(id, Map.of());
  }

  /**
   * A personality that comes along, with some of its lines changed.
   *
   * @param id its name
   * @param changes lines that differ, by key
   * @return the personality
   * @throws IllegalArgumentException where none has that name, a key is unknown or a value does not
   *     fit
   */
  public static Personality named(String id, Map<String, String> changes) {
    if (!SHIPPED.contains(id)) {
      throw new IllegalArgumentException(
          "no driver personality is named '" + id + "'; there are " + SHIPPED);
    }
    Properties lines = new Properties();
    try (InputStream in = Personalities.class.getResourceAsStream(id + ".properties")) {
      if (in == null) {
        throw new IllegalStateException("the text of personality " + id + " is missing");
      }
      lines.load(new InputStreamReader(in, StandardCharsets.UTF_8));
    } catch (IOException unreadable) {
      throw new UncheckedIOException("personality " + id, unreadable);
    }
    Map<String, String> all = new TreeMap<>();
    lines.stringPropertyNames().forEach(key -> all.put(key, lines.getProperty(key).strip()));
    for (String key : changes.keySet()) {
      if (!all.containsKey(key)) {
        throw new IllegalArgumentException(
            "personality " + id + " has no line '" + key + "'; it has " + all.keySet());
      }
    }
    all.putAll(changes);
    return parse(id, all);
  }

  /**
   * Reads a personality from lines of one's own; every line must be there.
   *
   * @param id its name
   * @param lines the lines by key
   * @return the personality
   * @throws IllegalArgumentException where a line is missing, unknown or does not fit
   */
  public static Personality parse(String id, Map<String, String> lines) {
    Reader in = new Reader(id, lines);
    Personality read =
        new Personality(
            id,
            in.choice("family", Family.class),
            (int) in.number("version"),
            in.text("label"),
            in.number("context-bytes"),
            in.words("missing-symbols"),
            in.choice("last-error", Personality.LastError.class),
            new Personality.Registration(
                in.number("register.pages-per-call"),
                (int) in.number("register.pages-per-call-code"),
                in.number("register.bytes-per-call"),
                in.number("register.bytes-in-total"),
                in.number("register.warn-above-bytes"),
                (int) in.number("register.failure-code"),
                (int) in.number("register.accepted-flags"),
                (int) in.number("register.read-only-code"),
                in.choice("register.overlap", Personality.Overlap.class),
                in.choice("register.interior", Personality.Interior.class),
                in.choice("register.alias", Personality.Alias.class),
                in.choice("register.backing-pages", Personality.BackingPages.class),
                in.choice("register.pin-model", Personality.PinModel.class)),
            new Personality.Copies(
                in.choice("copy.batch", Personality.Batch.class),
                (int) in.number("copy.batch-rows-fault"),
                in.choice("copy.host-pointers", Personality.HostPointers.class)),
            new Personality.Vmm(
                in.choice("vmm.level", Personality.Level.class),
                in.number("vmm.granule-bytes"),
                (int) in.number("vmm.map-misuse-code"),
                in.choice("vmm.map-sizes", Personality.MapSizes.class),
                (int) in.number("vmm.tail-access-fails-percent"),
                in.choice("vmm.memory-returns", Personality.MemoryReturns.class),
                in.choice("vmm.unmap-several", Personality.UnmapSeveral.class),
                in.choice("vmm.unmap-unmapped", Personality.UnmapUnmapped.class),
                in.choice("vmm.release-while-mapped", Personality.ReleaseWhileMapped.class),
                in.yes("vmm.posix-fd"),
                in.choice("vmm.import-form", Personality.ImportForm.class),
                (int) in.number("vmm.fabric-code"),
                in.yes("vmm.rdma"),
                in.yes("vmm.dma-buf"),
                in.choice("vmm.concurrency", Personality.Concurrency.class),
                in.choice("vmm.wish-for-used-addresses", Personality.Wish.class)));
    in.finish();
    return read;
  }

  /** Takes lines one by one and says which were never asked for. */
  private static final class Reader {
    private final String id;
    private final Map<String, String> lines;
    private final Set<String> asked = new HashSet<>();

    Reader(String id, Map<String, String> lines) {
      this.id = id;
      this.lines = lines;
    }

    String text(String key) {
      @Nullable String value = lines.get(key);
      if (value == null) {
        throw new IllegalArgumentException("personality " + id + " lacks the line '" + key + "'");
      }
      asked.add(key);
      return value;
    }

    long number(String key) {
      String value = text(key);
      try {
        return Long.decode(value.replace("_", ""));
      } catch (NumberFormatException notANumber) {
        throw wrong(key, value, "a number");
      }
    }

    boolean yes(String key) {
      String value = text(key);
      return switch (value) {
        case "yes" -> true;
        case "no" -> false;
        default -> throw wrong(key, value, "yes or no");
      };
    }

    Set<String> words(String key) {
      Set<String> all = new TreeSet<>();
      for (String word : text(key).split("[,\\s]+", -1)) {
        if (!word.isEmpty()) {
          all.add(word);
        }
      }
      return all;
    }

    <E extends Enum<E>> E choice(String key, Class<E> type) {
      String value = text(key);
      String name = value.replace('-', '_').toUpperCase(Locale.ROOT);
      for (E constant : type.getEnumConstants()) {
        if (constant.name().equals(name)) {
          return constant;
        }
      }
      throw wrong(key, value, "one of " + List.of(type.getEnumConstants()));
    }

    void finish() {
      Set<String> unknown = new TreeSet<>(lines.keySet());
      unknown.removeAll(asked);
      if (!unknown.isEmpty()) {
        throw new IllegalArgumentException("personality " + id + " has unknown lines " + unknown);
      }
    }

    private IllegalArgumentException wrong(String key, String value, String wanted) {
      return new IllegalArgumentException(
          "personality " + id + ": " + key + " = " + value + " must be " + wanted);
    }
  }
}
