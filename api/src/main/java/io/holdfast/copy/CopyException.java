package io.holdfast.copy;

import io.holdfast.error.DriverException;
import io.holdfast.error.HoldfastException;
import java.io.Serial;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalLong;

/** A submission failed; the destination's bytes are undefined. */
public final class CopyException extends HoldfastException {
  @Serial private static final long serialVersionUID = 1L;

  /** The driver's answer. */
  private final DriverException answer;

  /** The pair, or -1. */
  private final long pair;

  /** Bytes of the descriptor, or 0 where none is known. */
  private final long bytes;

  /** The descriptor's source. */
  private final long source;

  /** The descriptor's destination. */
  private final long destination;

  /**
   * The driver's answer, and what it is about.
   *
   * @param answer the driver's
   * @param pair index of the pair, or empty where the driver names none
   * @param descriptor what was being copied, or empty where the driver names none
   */
  public CopyException(DriverException answer, OptionalLong pair, Optional<Descriptor> descriptor) {
    super(
        answer.category(),
        answer.operation(),
        "a copy failed"
            + (pair.isEmpty() ? "" : " at pair " + pair.getAsLong())
            + descriptor.map(one -> " (" + one + ")").orElse("")
            + ": "
            + answer.getMessage(),
        "",
        answer);
    this.answer = answer;
    this.pair = pair.orElse(-1);
    this.bytes = descriptor.map(Descriptor::bytes).orElse(0L);
    this.source = descriptor.map(Descriptor::source).orElse(0L);
    this.destination = descriptor.map(Descriptor::destination).orElse(0L);
  }

  /**
   * What the driver said.
   *
   * @return its answer, also the cause
   */
  public DriverException answer() {
    return answer;
  }

  /**
   * Which pair, where the driver says; for a descriptor that covers several, the first of them.
   *
   * @return the pair's index, or empty
   */
  public OptionalLong pair() {
    return pair < 0 ? OptionalLong.empty() : OptionalLong.of(pair);
  }

  /**
   * What was being copied, where the driver says.
   *
   * @return the descriptor, or empty
   */
  public Optional<Descriptor> descriptor() {
    return bytes == 0 ? Optional.empty() : Optional.of(new Descriptor(source, destination, bytes));
  }

  /**
   * One copy as the driver was asked for it.
   *
   * @param source first address, as the device names it
   * @param destination first address, as the device names it
   * @param bytes how many, positive
   */
  public record Descriptor(long source, long destination, long bytes) {
    @Override
    public String toString() {
      return String.format(Locale.ROOT, "%d bytes from 0x%x to 0x%x", bytes, source, destination);
    }
  }
}
