package io.holdfast.device;

/** How physical memory is named to others. */
public enum HandleKind {
  /** A file descriptor, on this host. */
  POSIX_FD,
  /** A fabric handle, across hosts. */
  FABRIC
}
