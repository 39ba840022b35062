package io.holdfast.internal.host;

import java.nio.file.Path;

/** The names that our files have while they have one. */
final class SharedNames {
  /** Where names lie that belong to no directory of the caller's. */
  static final Path SYSTEM_MEMORY = Path.of("/dev/shm");

  /** Files that lose their name at once. */
  static final String PRIVATE_PREFIX = ".holdfast-private-";

  private static final String PREFIX = "holdfast-";
  private static final String CONTROL = ".control";
  private static final String DATA = ".data";

  private SharedNames() {}

  /** The page through which ranks meet. */
  static String control(String name) {
    return PREFIX + name + CONTROL;
  }

  /** The memory itself. */
  static String data(String name) {
    return PREFIX + name + DATA;
  }

  /** Whether a file of that name is one of ours. */
  static boolean isOurs(String name) {
    return name.startsWith(PRIVATE_PREFIX)
        || (name.startsWith(PREFIX) && (name.endsWith(CONTROL) || name.endsWith(DATA)));
  }
}
