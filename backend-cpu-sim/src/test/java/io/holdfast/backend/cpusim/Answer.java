package io.holdfast.backend.cpusim;

import io.holdfast.error.DriverException;

/** What a driver answers to a call of the port. */
final class Answer {
  private Answer() {}

  /** 0, or the code of the exception. */
  static int of(Runnable call) {
    try {
      call.run();
      return 0;
    } catch (DriverException refused) {
      return refused.code();
    }
  }
}
