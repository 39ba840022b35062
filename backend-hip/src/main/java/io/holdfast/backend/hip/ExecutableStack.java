package io.holdfast.backend.hip;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** Whether a library wants the stack to be executable, read from its file before it is loaded. */
final class ExecutableStack {
  // elf.h
  private static final int MAGIC = 0x464c457f; // 0x7f E L F
  private static final byte CLASS_64 = 2;
  private static final byte LITTLE_ENDIAN = 1;
  private static final int HEADER_BYTES = 64;
  private static final int PROGRAM_HEADER_BYTES = 56;
  private static final int PT_GNU_STACK = 0x6474e551;
  private static final int PF_X = 1;

  // Offsets in Elf64_Ehdr and Elf64_Phdr.
  private static final int PROGRAM_HEADERS_AT = 32;
  private static final int PROGRAM_HEADER_COUNT = 56;
  private static final int FLAGS = 4;

  private ExecutableStack() {}

  /** False, too, for what is no 64-bit library of this byte order or cannot be read. */
  static boolean isAskedFor(Path library) {
    try (FileChannel file = FileChannel.open(library, StandardOpenOption.READ)) {
      ByteBuffer header = read(file, 0, HEADER_BYTES);
      if (header.getInt(0) != MAGIC
          || header.get(4) != CLASS_64
          || header.get(5) != LITTLE_ENDIAN) {
        return false;
      }
      long at = header.getLong(PROGRAM_HEADERS_AT);
      int count = Short.toUnsignedInt(header.getShort(PROGRAM_HEADER_COUNT));
      for (int i = 0; i < count; i++) {
        ByteBuffer one = read(file, at + (long) i * PROGRAM_HEADER_BYTES, PROGRAM_HEADER_BYTES);
        if (one.getInt(0) == PT_GNU_STACK) {
          return (one.getInt(FLAGS) & PF_X) != 0;
        }
      }
      return true; // without the entry, C libraries take it that old code is asking
    } catch (IOException | IllegalArgumentException unreadable) {
      return false; // the system loader will say what is wrong with it
    }
  }

  private static ByteBuffer read(FileChannel file, long at, int bytes) throws IOException {
    ByteBuffer into = ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
    while (into.hasRemaining() && file.read(into, at + into.position()) > 0) {}
    if (into.hasRemaining()) {
      throw new IOException("ends early");
    }
    return into;
  }
}
