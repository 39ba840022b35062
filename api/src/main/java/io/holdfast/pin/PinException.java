package io.holdfast.pin;

import io.holdfast.error.Category;
import io.holdfast.error.DriverException;
import io.holdfast.error.HoldfastException;
import java.io.Serial;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * Memory could not be pinned, or not be unpinned. What the driver said, if it was asked, is the
 * cause; failures to undo are suppressed exceptions of this.
 */
@SuppressWarnings("exports") // naming @Nullable binds nobody to have it
public final class PinException extends HoldfastException {
  @Serial private static final long serialVersionUID = 1L;

  /** Why. */
  private final Reason reason;

  /** First byte concerned, from the memory's start. */
  private final long offsetBytes;

  /** How many bytes are concerned. */
  private final long bytes;

  /** The numbers around it; not kept by Java serialization. */
  private final transient @Nullable Surroundings surroundings;

  /**
   * Carries the reason with its numbers.
   *
   * @param reason why
   * @param offsetBytes first byte concerned, from the memory's start
   * @param bytes how many bytes are concerned
   * @param surroundings the numbers around it, where the driver was asked
   * @param what one sentence with the numbers, without a full stop
   * @param remedy one sentence; may be empty
   * @param cause what the driver said, if it was asked
   */
  public PinException(
      Reason reason,
      long offsetBytes,
      long bytes,
      Optional<Surroundings> surroundings,
      String what,
      String remedy,
      @Nullable Throwable cause) {
    super(categoryOf(reason, cause), "pin host memory", what, remedy, cause);
    this.reason = Objects.requireNonNull(reason, "reason");
    this.offsetBytes = offsetBytes;
    this.bytes = bytes;
    this.surroundings = surroundings.orElse(null);
  }

  private static Category categoryOf(Reason reason, @Nullable Throwable cause) {
    return cause instanceof HoldfastException known ? known.category() : reason.category;
  }

  /**
   * Why.
   *
   * @return the reason
   */
  public Reason reason() {
    return reason;
  }

  /**
   * First byte concerned.
   *
   * @return bytes from the memory's start
   */
  public long offsetBytes() {
    return offsetBytes;
  }

  /**
   * How much is concerned.
   *
   * @return bytes
   */
  public long bytes() {
    return bytes;
  }

  /**
   * The numbers around a refusal of the driver's.
   *
   * @return the numbers, or empty where the driver was not asked
   */
  public Optional<Surroundings> surroundings() {
    return Optional.ofNullable(surroundings);
  }

  /**
   * The driver's own answer.
   *
   * @return the answer, or empty where the driver was not asked
   */
  public Optional<DriverException> driver() {
    return getCause() instanceof DriverException answer ? Optional.of(answer) : Optional.empty();
  }

  /** Why memory is not pinned, or still pinned. */
  public enum Reason {
    /** The driver refused a range. */
    DRIVER_REFUSED(Category.DRIVER),
    /** Somebody else in this process has registered a part of the range; that stays theirs. */
    REGISTERED_BY_OTHERS(Category.DRIVER),
    /** Pins of this backend already cover a part of the memory; the driver was not asked. */
    PINNED_ALREADY(Category.BUSY),
    /** What one call may take is less than one backing page. */
    CAP_BELOW_PAGE(Category.LIMIT),
    /** The driver's known total would be exceeded. */
    TOTAL_LIMIT(Category.LIMIT),
    /** The pin budget set for this host would be exceeded. */
    HOST_BUDGET(Category.LIMIT),
    /** Pinning was cancelled or closed before it was done. */
    CANCELLED(Category.NOT_READY),
    /** The signal to start never came: its stage failed. */
    NOT_STARTED(Category.NOT_READY),
    /** A range could not be unregistered: it is in quarantine, its pages stay mapped. */
    STILL_PINNED(Category.DRIVER);

    private final Category category;

    Reason(Category category) {
      this.category = category;
    }
  }

  /**
   * Which memory there was when the driver refused.
   *
   * @param pinnedBytes bytes this backend has pinned, quarantine included
   * @param hostAvailableBytes the kernel's account of available memory
   * @param lockLimitBytes the limit of locked memory; empty for none. Not every driver's pins count
   *     against it
   * @param deviceFreeBytes free memory of the device
   */
  public record Surroundings(
      long pinnedBytes,
      OptionalLong hostAvailableBytes,
      OptionalLong lockLimitBytes,
      OptionalLong deviceFreeBytes) {}
}
