package io.holdfast.bench.doctor;

/**
 * One thing worth knowing about a host.
 *
 * @param weight how much it matters
 * @param about one word to find it by
 * @param text one sentence
 * @param remedy what to do, or empty
 */
public record Finding(Weight weight, String about, String text, String remedy) {
  /** How much it matters. */
  public enum Weight {
    /** Explains. */
    NOTE,
    /** Can cost speed, or fail under load. */
    WARNING
  }

  static Finding note(String about, String text, String remedy) {
    return new Finding(Weight.NOTE, about, text, remedy);
  }

  static Finding warning(String about, String text, String remedy) {
    return new Finding(Weight.WARNING, about, text, remedy);
  }
}
