package io.holdfast.bench.tool;

import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/**
 * A number of bytes on the command line: plain, or with a binary unit ({@code KiB MiB GiB TiB}, or
 * {@code k m g t}). Decimal units are refused, since they mean two things.
 *
 * @param bytes positive
 */
public record ByteCount(long bytes) {
  private static final Pattern FORM = Pattern.compile("([0-9]+)\\s*([A-Za-z]*)");
  private static final String FORMS = "use bytes, or KiB, MiB, GiB, TiB (k, m, g, t)";
  private static final Map<String, Integer> SHIFT =
      Map.of("", 0, "k", 10, "kib", 10, "m", 20, "mib", 20, "g", 30, "gib", 30, "t", 40, "tib", 40);

  /**
   * Reads a number of bytes.
   *
   * @param text for example {@code 64KiB}
   * @return the number
   * @throws IllegalArgumentException with one clear sentence
   */
  public static ByteCount parse(String text) {
    Matcher form = FORM.matcher(text.strip());
    Integer shift =
        form.matches() ? SHIFT.get(form.group(2).toLowerCase(Locale.ROOT)) : (Integer) null;
    if (shift == null) {
      throw new IllegalArgumentException(
          "'" + text + "' is not a size; " + (form.matches() ? meant(form) : FORMS));
    }
    try {
      long bytes = Math.multiplyExact(Long.parseLong(form.group(1)), 1L << shift);
      if (bytes <= 0) {
        throw new IllegalArgumentException("'" + text + "' is not a positive size");
      }
      return new ByteCount(bytes);
    } catch (ArithmeticException | NumberFormatException _) {
      throw new IllegalArgumentException("'" + text + "' is too large: more than 2^63 - 1 bytes");
    }
  }

  /** Whoever writes a decimal unit means the binary one, or should say bytes. */
  private static String meant(Matcher form) {
    String unit = form.group(2).toUpperCase(Locale.ROOT);
    return unit.matches("[KMGT]B")
        ? unit + " can mean two things; write " + form.group(1) + unit.charAt(0) + "iB"
        : FORMS;
  }

  /**
   * The number for people, in the largest binary unit that is exact or three digits long.
   *
   * @param bytes any number
   * @return for example {@code 1.50 GiB}
   */
  public static String describe(long bytes) {
    String[] units = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    int unit = 0;
    double value = bytes;
    while (value >= 1024 && unit < units.length - 1) {
      value /= 1024;
      unit++;
    }
    return value == Math.rint(value)
        ? String.format(Locale.ROOT, "%.0f %s", value, units[unit])
        : String.format(Locale.ROOT, "%.2f %s", value, units[unit]);
  }

  /** For picocli. */
  public static final class Converter implements ITypeConverter<ByteCount> {
    /** Stateless. */
    public Converter() {}

    @Override
    public ByteCount convert(String value) {
      try {
        return parse(value);
      } catch (IllegalArgumentException wrong) {
        throw new TypeConversionException(wrong.getMessage());
      }
    }
  }
}
