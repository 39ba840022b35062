package io.holdfast.bench.tool;

import java.util.Locale;

/** Sentences as the command says them. */
public final class Wording {
  private Wording() {}

  /**
   * A number of things.
   *
   * @param number any
   * @param what one of them; its plural takes an s
   * @return for example {@code 1 fork}, {@code 1,024 forks}
   */
  public static String count(long number, String what) {
    return String.format(Locale.ROOT, "%,d %s%s", number, what, number == 1 ? "" : "s");
  }

  /**
   * A sentence of the API, with options where it names methods.
   *
   * @param text for whoever writes a program
   * @return the same for whoever types a command
   */
  public static String ofCommand(String text) {
    return text.replaceFirst("^PageSource\\.map ", "mapping the pool ")
        .replace("ask with limits ADVISE", "soak takes --limits advise");
  }
}
