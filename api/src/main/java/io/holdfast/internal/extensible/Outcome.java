package io.holdfast.internal.extensible;

/** How a change of pages ended. */
sealed interface Outcome {
  /** As asked. */
  record Done() implements Outcome {}

  /**
   * Nothing is changed.
   *
   * @param why the first failure
   */
  record Refused(Throwable why) implements Outcome {}

  /**
   * Not as asked, but pages were exchanged; the number of blocks is as before.
   *
   * @param why the first failure
   */
  record Exchanged(Throwable why) implements Outcome {}

  /**
   * What was taken apart could not be put together again: no pages are left.
   *
   * @param why the first failure
   */
  record Lost(Throwable why) implements Outcome {}
}
