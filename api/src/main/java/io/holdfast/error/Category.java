package io.holdfast.error;

/** What kind of trouble; callers branch on this, never on a message or a native code. */
public enum Category {
  /** No usable backend, device or library. */
  UNAVAILABLE,
  /** Memory, pages or another countable thing is missing. */
  SHORTFALL,
  /** A driver or planning limit cannot be met. */
  LIMIT,
  /** The capability is absent here. */
  UNSUPPORTED,
  /** In use now; trying again later can succeed. */
  BUSY,
  /** Not populated and pinned yet. */
  NOT_READY,
  /** Physical pages were exchanged since this was resolved. */
  STALE,
  /** What the kernel or driver did is not what was asked. */
  DISAGREEMENT,
  /** The device or its context is lost; the process must end. */
  DEVICE_LOST,
  /** A system property or environment variable says what cannot be understood. */
  SETTING,
  /** Any other answer of a driver. */
  DRIVER,
  /** Any other answer of the operating system. */
  OPERATING_SYSTEM,
}
