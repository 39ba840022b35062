package io.holdfast.internal.linux;

import java.lang.foreign.StructLayout;
import java.util.Locale;
import java.util.Optional;

/**
 * What differs between processor architectures.
 *
 * <p>On an architecture that nobody has described, {@link #UNKNOWN}, everything that needs one of
 * these answers ENOSYS; calls by library symbol that need none still work.
 *
 * @param numbers system call numbers (asm/unistd.h); −1 where unknown
 * @param openFlags flags of open (asm/fcntl.h); meaningless where unknown
 * @param stat what fstat fills (asm/stat.h); empty where unknown
 */
record Abi(Numbers numbers, OpenFlags openFlags, Optional<StructLayout> stat) {
  /** 64-bit x86. */
  static final Abi X86_64 =
      new Abi(
          new Numbers(5, 186, 217, 237, 238, 239, 262, 279, 319, 434, 438),
          new OpenFlags(0x1_0000, 0x2_0000, 0x41_0000),
          Optional.of(LibcLayouts.STAT_X86_64));

  /** 64-bit Arm. */
  static final Abi AARCH64 =
      new Abi(
          new Numbers(80, 178, 61, 235, 237, 236, 79, 239, 279, 434, 438),
          new OpenFlags(0x4000, 0x8000, 0x40_4000),
          Optional.of(LibcLayouts.STAT_AARCH64));

  /** Any other. */
  static final Abi UNKNOWN =
      new Abi(
          new Numbers(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1),
          new OpenFlags(0, 0, 0),
          Optional.empty());

  /** The architecture by its Java name, as in the system property os.arch. */
  static Abi of(String javaName) {
    return switch (javaName.toLowerCase(Locale.ROOT)) {
      case "amd64", "x86_64" -> X86_64;
      case "aarch64", "arm64" -> AARCH64;
      default -> UNKNOWN;
    };
  }

  /** This process's architecture. */
  static Abi current() {
    return of(System.getProperty("os.arch", ""));
  }

  /** Whether somebody has described it. */
  boolean isKnown() {
    return stat.isPresent();
  }

  /** System call numbers, by the names of the calls. */
  record Numbers(
      int fstat,
      int gettid,
      int getdents64,
      int mbind,
      int setMempolicy,
      int getMempolicy,
      int newfstatat,
      int movePages,
      int memfdCreate,
      int pidfdOpen,
      int pidfdGetfd) {}

  /** Flags of open that differ between architectures, by their header names. */
  record OpenFlags(int directory, int nofollow, int tmpfile) {}
}
