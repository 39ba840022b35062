package io.holdfast.internal.linux;

import static java.lang.foreign.MemoryLayout.PathElement.groupElement;
import static java.lang.foreign.MemoryLayout.paddingLayout;
import static java.lang.foreign.MemoryLayout.sequenceLayout;
import static java.lang.foreign.MemoryLayout.structLayout;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;

/**
 * The C structs of 64-bit Linux that our calls fill. Field names are those of the headers; fields
 * that nobody reads are padding.
 */
final class LibcLayouts {
  /** {@code struct stat} of x86-64 (asm/stat.h). */
  static final StructLayout STAT_X86_64 =
      structLayout(
          JAVA_LONG.withName("st_dev"),
          JAVA_LONG.withName("st_ino"),
          JAVA_LONG.withName("st_nlink"),
          JAVA_INT.withName("st_mode"),
          JAVA_INT.withName("st_uid"),
          paddingLayout(16),
          JAVA_LONG.withName("st_size"),
          paddingLayout(8),
          JAVA_LONG.withName("st_blocks"),
          paddingLayout(72));

  /** {@code struct stat} of AArch64 (asm-generic/stat.h). */
  static final StructLayout STAT_AARCH64 =
      structLayout(
          JAVA_LONG.withName("st_dev"),
          JAVA_LONG.withName("st_ino"),
          JAVA_INT.withName("st_mode"),
          JAVA_INT.withName("st_nlink"),
          JAVA_INT.withName("st_uid"),
          paddingLayout(20),
          JAVA_LONG.withName("st_size"),
          paddingLayout(8),
          JAVA_LONG.withName("st_blocks"),
          paddingLayout(56));

  /** {@code struct statfs} of both (asm-generic/statfs.h). */
  static final StructLayout STATFS =
      structLayout(
          JAVA_LONG.withName("f_type"),
          JAVA_LONG.withName("f_bsize"),
          JAVA_LONG.withName("f_blocks"),
          JAVA_LONG.withName("f_bfree"),
          JAVA_LONG.withName("f_bavail"),
          paddingLayout(80));

  /** {@code struct rlimit} (sys/resource.h). */
  static final StructLayout RLIMIT =
      structLayout(JAVA_LONG.withName("rlim_cur"), JAVA_LONG.withName("rlim_max"));

  /** {@code struct utsname} (sys/utsname.h). */
  static final StructLayout UTSNAME =
      structLayout(
          sequenceLayout(65, JAVA_BYTE).withName("sysname"),
          paddingLayout(65),
          sequenceLayout(65, JAVA_BYTE).withName("release"),
          paddingLayout(65),
          sequenceLayout(65, JAVA_BYTE).withName("machine"),
          paddingLayout(65));

  /** The head of {@code struct linux_dirent64} (linux/dirent.h); the name follows. */
  static final StructLayout DIRENT64 =
      structLayout(
          paddingLayout(16),
          JAVA_SHORT.withName("d_reclen"),
          JAVA_BYTE.withName("d_type"),
          sequenceLayout(5, JAVA_BYTE).withName("d_name"));

  /** How many CPUs glibc's {@code cpu_set_t} holds (sched.h): where growing starts. */
  static final int CPU_SETSIZE = 1024;

  private LibcLayouts() {}

  /** Where a field lies in its struct, in bytes. */
  static long offset(StructLayout struct, String field) {
    return struct.byteOffset(groupElement(field));
  }

  /** Reads an integer field of four or eight bytes; one of four bytes counts as unsigned. */
  static long integer(StructLayout struct, MemorySegment memory, String field) {
    MemoryLayout layout = struct.select(groupElement(field));
    long offset = offset(struct, field);
    return layout.byteSize() == ValueLayout.JAVA_INT.byteSize()
        ? Integer.toUnsignedLong(memory.get(JAVA_INT, offset))
        : memory.get(JAVA_LONG, offset);
  }
}
