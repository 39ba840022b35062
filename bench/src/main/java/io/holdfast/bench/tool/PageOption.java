package io.holdfast.bench.tool;

import io.holdfast.host.PageKind;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/**
 * A page kind on the command line: {@code base}, {@code thp}, {@code driver}, or a HugeTLB size as
 * the field writes it ({@code 2MB}, {@code 1GB}) or in binary units.
 */
public final class PageOption implements ITypeConverter<PageKind> {
  private static final long SMALLEST_PAGE = 4096; // a base page everywhere
  private static final Pattern FIELD_FORM = Pattern.compile("([0-9]{1,6})([kmg])b");

  @Override
  public PageKind convert(String value) {
    String text = value.strip().toLowerCase(Locale.ROOT);
    return switch (text) {
      case "base" -> PageKind.base();
      case "thp" -> PageKind.thp();
      case "driver" -> PageKind.driver();
      default -> PageKind.hugeTlb(pageBytes(value, text));
    };
  }

  /** For picocli. */
  public PageOption() {}

  /**
   * The kind in the form that {@link #convert} reads.
   *
   * @param kind what backs a region
   * @return the text
   */
  public static String text(PageKind kind) {
    return switch (kind) {
      case PageKind.Base _ -> "base";
      case PageKind.TransparentHuge _ -> "thp";
      case PageKind.Driver _ -> "driver";
      case PageKind.HugeTlb huge -> Long.toString(huge.pageBytes());
      case PageKind.Directory _ ->
          throw new IllegalArgumentException("a directory is an option of its own");
    };
  }

  private static ByteCount size(String text) {
    Matcher form = FIELD_FORM.matcher(text);
    return ByteCount.parse(form.matches() ? form.group(1) + form.group(2) : text);
  }

  /** The size of a page where only its bytes count, in the same spellings. */
  public static final class Size implements ITypeConverter<ByteCount> {
    /** For picocli. */
    public Size() {}

    @Override
    public ByteCount convert(String value) {
      try {
        return size(value.strip().toLowerCase(Locale.ROOT));
      } catch (IllegalArgumentException wrong) {
        throw new TypeConversionException(wrong.getMessage());
      }
    }
  }

  /** Page sizes are powers of two, so that the field's {@code 2MB} can only mean 2 MiB. */
  private static long pageBytes(String value, String text) {
    try {
      long bytes = size(text).bytes();
      if (bytes == SMALLEST_PAGE) {
        throw new TypeConversionException("'" + value + "' is the base page; write base");
      }
      if (Long.bitCount(bytes) == 1) {
        return bytes;
      }
    } catch (IllegalArgumentException _) { // said below, with what a page kind is
    }
    throw new TypeConversionException(
        "'" + value + "' is not a page kind; use base, thp, driver, or a size such as 2MB or 1GB");
  }
}
