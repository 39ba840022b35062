package io.holdfast.internal.host;

/** The names that our files have while they have one. */
final class SharedNames {
  /** Files that lose their name at once. */
  static final String PRIVATE_PREFIX = ".holdfast-private-";

  private SharedNames() {}
}
