package io.holdfast.internal.linux;

import static java.lang.foreign.MemoryLayout.PathElement.groupElement;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.lang.foreign.StructLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/**
 * Our numbers at work: a C program makes system calls by them and reads structs at our offsets,
 * compiled for an architecture and run there, or in its user-mode emulation. Where a header and our
 * table were wrong together, the answers would be.
 */
@EnabledOnOs(OS.LINUX)
class EmulatedAbiTest {
  private static final String PROGRAM =
      """
      #define _GNU_SOURCE
      #include <errno.h>
      #include <fcntl.h>
      #include <stdio.h>
      #include <string.h>
      #include <sys/vfs.h>
      #include <unistd.h>
      static long long at8(const char *p, int offset) {
        long long value; memcpy(&value, p + offset, 8); return value; }
      static unsigned at4(const char *p, int offset) {
        unsigned value; memcpy(&value, p + offset, 4); return value; }
      int main(int argc, char **argv) {
        char buffer[4096];
        int folder = open(argv[1], O_RDONLY | OUR_O_DIRECTORY);
        printf("folder opens %d\\n", folder >= 0);
        printf("file is no folder %d\\n",
               openat(folder, "file", O_RDONLY | OUR_O_DIRECTORY) == -1 && errno == ENOTDIR);
        printf("link is not followed %d\\n",
               openat(folder, "link", O_RDONLY | OUR_O_NOFOLLOW) == -1 && errno == ELOOP);
        int file = openat(folder, "file", O_RDONLY);
        memset(buffer, 0x55, sizeof buffer);
        printf("fstat %ld\\n", syscall(OUR_FSTAT, file, buffer));
        printf("size %lld\\n", at8(buffer, OUR_ST_SIZE));
        printf("mode %o\\n", at4(buffer, OUR_ST_MODE));
        printf("inode %lld\\n", at8(buffer, OUR_ST_INO));
        printf("owner %u\\n", at4(buffer, OUR_ST_UID));
        printf("links %lld\\n",
               OUR_ST_NLINK_BYTES == 8 ? at8(buffer, OUR_ST_NLINK) : at4(buffer, OUR_ST_NLINK));
        memset(buffer, 0x55, sizeof buffer);
        printf("newfstatat %ld\\n",
               syscall(OUR_NEWFSTATAT, folder, "link", buffer, AT_SYMLINK_NOFOLLOW));
        printf("link size %lld\\n", at8(buffer, OUR_ST_SIZE));
        memset(buffer, 0x55, sizeof buffer);
        printf("fstatfs %d\\n", fstatfs(file, (struct statfs *) buffer));
        printf("blocks fit %d\\n",
               at8(buffer, OUR_F_BSIZE) > 0
                   && at8(buffer, OUR_F_BAVAIL) <= at8(buffer, OUR_F_BFREE)
                   && at8(buffer, OUR_F_BFREE) <= at8(buffer, OUR_F_BLOCKS));
        long bytes = syscall(OUR_GETDENTS64, folder, buffer, sizeof buffer);
        long seen = 0;
        for (long at = 0; at < bytes;) {
          unsigned short length; memcpy(&length, buffer + at + OUR_D_RECLEN, 2);
          if (strcmp(buffer + at + OUR_D_NAME, "file") == 0) {
            seen = buffer[at + OUR_D_TYPE];
          }
          at += length;
        }
        printf("entry type %ld\\n", seen);
        printf("thread is process %d\\n", syscall(OUR_GETTID) == getpid());
        int memory = syscall(OUR_MEMFD_CREATE, "abi", OUR_MFD_FLAGS);
        printf("memfd %d\\n", memory >= 0 && ftruncate(memory, 4097) == 0);
        printf("memfd size %ld\\n", (long) lseek(memory, 0, SEEK_END));
        printf("memfd closes on exec %d\\n", fcntl(memory, F_GETFD) == FD_CLOEXEC);
        int other = syscall(OUR_PIDFD_OPEN, getpid(), 0);
        printf("pidfd %d\\n", other >= 0);
        int taken = syscall(OUR_PIDFD_GETFD, other, memory, 0);
        printf("taken size %ld\\n", (long) lseek(taken, 0, SEEK_END));
        int nameless = open(argv[1], O_RDWR | OUR_O_TMPFILE, 0600);
        printf("nameless %d\\n", nameless >= 0 || errno == EOPNOTSUPP);
        return 0;
      }
      """;

  @TempDir Path folder;

  @Test
  void ourNumbersOfX86DoWhatTheyShould() throws Exception {
    boolean native64 = Abi.current().equals(Abi.X86_64);
    judge(
        native64 ? List.of("cc") : List.of("x86_64-linux-gnu-gcc", "-static"),
        native64 ? List.of() : List.of("qemu-x86_64-static"),
        Abi.X86_64,
        LibcLayouts.STAT_X86_64);
  }

  @Test
  void ourNumbersOfArmDoWhatTheyShould() throws Exception {
    boolean native64 = Abi.current().equals(Abi.AARCH64);
    judge(
        native64 ? List.of("cc") : List.of("aarch64-linux-gnu-gcc", "-static"),
        native64 ? List.of() : List.of("qemu-aarch64-static"),
        Abi.AARCH64,
        LibcLayouts.STAT_AARCH64);
  }

  private void judge(List<String> compiler, List<String> runner, Abi abi, StructLayout stat)
      throws Exception {
    Path data = Files.createDirectory(folder.resolve("data"));
    Path file = Files.write(data.resolve("file"), new byte[12_345]);
    Files.createLink(folder.resolve("second"), file);
    Files.createSymbolicLink(data.resolve("link"), Path.of("file"));
    Path source = Files.writeString(folder.resolve("abi.c"), PROGRAM);
    Path program = folder.resolve("abi");
    List<String> compile = new ArrayList<>(compiler);
    numbers(abi, stat).forEach((name, value) -> compile.add("-DOUR_" + name + "=" + value));
    compile.addAll(List.of("-o", program.toString(), source.toString()));
    run(compile);

    List<String> command = new ArrayList<>(runner);
    command.addAll(List.of(program.toString(), data.toString()));
    Map<String, String> answers = new TreeMap<>();
    for (String line : run(command).lines().toList()) {
      int last = line.lastIndexOf(' ');
      answers.put(line.substring(0, last), line.substring(last + 1));
    }

    Map<String, String> expected = new TreeMap<>();
    for (String yes :
        List.of(
            "folder opens",
            "file is no folder",
            "link is not followed",
            "blocks fit",
            "thread is process",
            "memfd",
            "memfd closes on exec",
            "pidfd",
            "nameless")) {
      expected.put(yes, "1");
    }
    for (String call : List.of("fstat", "newfstatat", "fstatfs")) {
      expected.put(call, "0");
    }
    expected.put("size", "12345");
    expected.put("mode", Integer.toOctalString((int) Files.getAttribute(file, "unix:mode")));
    expected.put("inode", Files.getAttribute(file, "unix:ino").toString());
    expected.put("owner", Files.getAttribute(file, "unix:uid").toString());
    expected.put("links", "2");
    expected.put("link size", "4");
    expected.put("entry type", "8"); // DT_REG
    expected.put("memfd size", "4097");
    expected.put("taken size", "4097");
    assertEquals(expected, answers);
  }

  private static Map<String, Long> numbers(Abi abi, StructLayout stat) {
    Map<String, Long> ours = new LinkedHashMap<>();
    ours.put("O_DIRECTORY", (long) abi.openFlags().directory());
    ours.put("O_NOFOLLOW", (long) abi.openFlags().nofollow());
    ours.put("O_TMPFILE", (long) abi.openFlags().tmpfile());
    ours.put("FSTAT", (long) abi.numbers().fstat());
    ours.put("NEWFSTATAT", (long) abi.numbers().newfstatat());
    ours.put("GETDENTS64", (long) abi.numbers().getdents64());
    ours.put("GETTID", (long) abi.numbers().gettid());
    ours.put("MEMFD_CREATE", (long) abi.numbers().memfdCreate());
    ours.put("MFD_FLAGS", (long) LibcBindings.MFD_CLOEXEC);
    ours.put("PIDFD_OPEN", (long) abi.numbers().pidfdOpen());
    ours.put("PIDFD_GETFD", (long) abi.numbers().pidfdGetfd());
    for (String field : List.of("st_size", "st_mode", "st_ino", "st_uid", "st_nlink")) {
      ours.put(field.toUpperCase(Locale.ROOT), LibcLayouts.offset(stat, field));
    }
    ours.put("ST_NLINK_BYTES", stat.select(groupElement("st_nlink")).byteSize());
    for (String field : List.of("f_bsize", "f_blocks", "f_bfree", "f_bavail")) {
      ours.put(field.toUpperCase(Locale.ROOT), LibcLayouts.offset(LibcLayouts.STATFS, field));
    }
    for (String field : List.of("d_reclen", "d_type", "d_name")) {
      ours.put(field.toUpperCase(Locale.ROOT), LibcLayouts.offset(LibcLayouts.DIRENT64, field));
    }
    return ours;
  }

  private static String run(List<String> command) throws IOException, InterruptedException {
    Process process;
    try {
      process = new ProcessBuilder(command).redirectErrorStream(true).start();
    } catch (IOException absent) {
      assumeTrue(false, "needs " + command.getFirst() + ": " + absent.getMessage());
      throw absent;
    }
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, process.waitFor(), output);
    return output;
  }
}
