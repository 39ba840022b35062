package io.holdfast.error;

import java.io.Serial;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** A driver call answered with an error code. */
public final class DriverException extends HoldfastException {
  @Serial private static final long serialVersionUID = 1L;

  /** The backend whose driver answered. */
  private final String backend;

  /** The driver's own number. */
  private final int code;

  /** The driver's own name. */
  private final String codeName;

  /** What it means. */
  private final DriverFault fault;

  /** The entry of the copy table, or -1. */
  private final long entry;

  /**
   * An answer that concerns the call as a whole.
   *
   * @param backend id of the backend whose driver answered
   * @param operation the driver call, by its exported name, with its arguments where they help
   * @param code the driver's own number
   * @param codeName the driver's own name for that number
   * @param fault what the number means to policy
   */
  public DriverException(
      String backend, String operation, int code, String codeName, DriverFault fault) {
    this(backend, operation, code, codeName, fault, -1, null);
  }

  private DriverException(
      String backend,
      String operation,
      int code,
      String codeName,
      DriverFault fault,
      long entry,
      @Nullable Throwable cause) {
    super(
        fault.category(),
        operation,
        backend
            + ": "
            + operation
            + " answered "
            + code
            + " ("
            + codeName
            + ")"
            + (entry < 0 ? "" : " at entry " + entry),
        fault.remedy(),
        cause);
    this.backend = backend;
    this.code = code;
    this.codeName = codeName;
    this.fault = fault;
    this.entry = entry;
  }

  /**
   * The same answer, tied to one entry of a copy table.
   *
   * @param index the entry, 0 or more
   * @return a new exception with this one as its cause
   */
  public DriverException atEntry(long index) {
    if (index < 0) {
      throw new IllegalArgumentException("entry " + index + " is negative");
    }
    return new DriverException(backend, operation(), code, codeName, fault, index, this);
  }

  /**
   * Which backend's driver answered.
   *
   * @return the backend's id
   */
  public String backend() {
    return backend;
  }

  /**
   * The driver's own number.
   *
   * @return the code
   */
  public int code() {
    return code;
  }

  /**
   * The driver's own name for that number.
   *
   * @return the name, for example {@code CUDA_ERROR_INVALID_VALUE}
   */
  public String codeName() {
    return codeName;
  }

  /**
   * What the number means to policy.
   *
   * @return the fault
   */
  public DriverFault fault() {
    return fault;
  }

  /**
   * The entry of the copy table, where the driver names one.
   *
   * @return the entry's index, or empty
   */
  public OptionalLong entry() {
    return entry < 0 ? OptionalLong.empty() : OptionalLong.of(entry);
  }
}
