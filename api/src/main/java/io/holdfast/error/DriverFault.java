package io.holdfast.error;

/** What a driver's code means to policy; each driver maps its own numbers to these. */
public enum DriverFault {
  /** Device memory or a registration table is exhausted. */
  OUT_OF_MEMORY(Category.SHORTFALL, "Free device memory, or register smaller ranges"),
  /** An argument, range or pointer was refused. */
  INVALID_ARGUMENT(Category.DRIVER, ""),
  /** The host range, or part of it, is registered already. */
  ALREADY_REGISTERED(
      Category.DRIVER, "Another library in this process has registered part of this range"),
  /** No registration starts there. */
  NOT_REGISTERED(Category.DRIVER, ""),
  /** The handle names nothing that fits, for example an event of another context. */
  INVALID_HANDLE(Category.DRIVER, ""),
  /** The driver has no such feature here. */
  NOT_SUPPORTED(Category.UNSUPPORTED, ""),
  /** The feature exists but this process may not use it. */
  NOT_PERMITTED(Category.UNSUPPORTED, "Grant the permission, or do without the feature"),
  /** A stream capture forbids the call, or was invalidated by it. */
  CAPTURE(Category.BUSY, "Let the graph capture end first"),
  /** The context is lost for good. */
  DEVICE_LOST(Category.DEVICE_LOST, "The process must end and start again"),
  /** The driver is shutting down with the process, or this is a forked child. */
  SHUTTING_DOWN(Category.UNAVAILABLE, ""),
  /** Anything else. */
  OTHER(Category.DRIVER, "");

  private final Category category;
  private final String remedy;

  DriverFault(Category category, String remedy) {
    this.category = category;
    this.remedy = remedy;
  }

  /**
   * The category callers branch on.
   *
   * @return the category
   */
  public Category category() {
    return category;
  }

  /**
   * What usually helps.
   *
   * @return one sentence without a full stop, or the empty string
   */
  public String remedy() {
    return remedy;
  }
}
