package io.holdfast.internal.linux;

import static java.lang.foreign.MemoryLayout.PathElement.groupElement;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.holdfast.error.Errno;
import io.holdfast.spi.HostKernel.FileSystemFacts;
import java.io.IOException;
import java.lang.foreign.StructLayout;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/**
 * Compares every number that we copied from a C header with the header itself. The program is only
 * compiled to assembly, so a cross compiler without an emulator is enough for a foreign
 * architecture.
 */
@EnabledOnOs(OS.LINUX)
class HeadersTest {
  // Added to every value in C, so that none is zero or shared with the marker of an absent name.
  private static final long SHIFT = 1_000_003;
  private static final long ABSENT = 77;

  // Newer than the oldest headers we build with: Linux 6.3 and 6.9.
  private static final Set<String> MAY_BE_ABSENT =
      Set.of("MFD_NOEXEC_SEAL", "MPOL_WEIGHTED_INTERLEAVE");

  private static final String HEADERS =
      """
      #define _GNU_SOURCE
      #include <dirent.h>
      #include <errno.h>
      #include <fcntl.h>
      #include <linux/magic.h>
      #include <linux/memfd.h>
      #include <linux/mempolicy.h>
      #include <linux/version.h>
      #include <sched.h>
      #include <stddef.h>
      #include <sys/file.h>
      #include <sys/mman.h>
      #include <sys/prctl.h>
      #include <sys/resource.h>
      #include <sys/stat.h>
      #include <sys/syscall.h>
      #include <sys/utsname.h>
      #include <sys/vfs.h>
      #include <unistd.h>
      #define MPOL_DEFAULT MPOL_DEFAULT
      #define MPOL_PREFERRED MPOL_PREFERRED
      #define MPOL_BIND MPOL_BIND
      #define MPOL_INTERLEAVE MPOL_INTERLEAVE
      #if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0)
      #define MPOL_WEIGHTED_INTERLEAVE MPOL_WEIGHTED_INTERLEAVE
      #endif
      const long long table[] = {
      """;

  @TempDir Path folder;

  @Test
  void numbersAndOffsetsOfX86AreThoseOfItsHeaders() throws Exception {
    boolean native64 = Abi.current().equals(Abi.X86_64);
    compare(native64 ? "cc" : "x86_64-linux-gnu-gcc", Abi.X86_64, LibcLayouts.STAT_X86_64);
  }

  @Test
  void numbersAndOffsetsOfArmAreThoseOfItsHeaders() throws Exception {
    boolean native64 = Abi.current().equals(Abi.AARCH64);
    compare(native64 ? "cc" : "aarch64-linux-gnu-gcc", Abi.AARCH64, LibcLayouts.STAT_AARCH64);
  }

  private void compare(String compiler, Abi abi, StructLayout stat) throws Exception {
    Map<String, Long> ours = new LinkedHashMap<>();
    constants(ours);
    errnos(ours);
    architecture(ours, abi);
    structs(ours, stat);

    Map<String, Long> theirs = compiled(compiler, ours.keySet());

    Set<String> absent = new TreeSet<>(ours.keySet());
    absent.removeAll(theirs.keySet());
    absent.removeAll(MAY_BE_ABSENT);
    assertEquals(Set.of(), absent, "names that the headers do not know");
    ours.keySet().retainAll(theirs.keySet());
    assertEquals(new TreeMap<>(theirs), new TreeMap<>(ours));
    assertFalse(ours.size() < 220, () -> "only " + ours.size() + " numbers compared");
  }

  private static void constants(Map<String, Long> ours) throws IllegalAccessException {
    for (Field field : LibcBindings.class.getDeclaredFields()) {
      boolean constant =
          Modifier.isStatic(field.getModifiers())
              && !Modifier.isPrivate(field.getModifiers())
              && field.getType().isPrimitive();
      if (constant) {
        ours.put(field.getName(), ((Number) field.get(null)).longValue());
      }
    }
    ours.put("CPU_SETSIZE", (long) LibcLayouts.CPU_SETSIZE);
    ours.put("HUGETLBFS_MAGIC", FileSystemFacts.HUGETLBFS_MAGIC);
    ours.put("TMPFS_MAGIC", FileSystemFacts.TMPFS_MAGIC);
  }

  private static void errnos(Map<String, Long> ours) {
    for (Errno errno : Errno.values()) {
      ours.put(errno.name(), (long) errno.number());
    }
  }

  private static void architecture(Map<String, Long> ours, Abi abi) {
    Abi.Numbers numbers = abi.numbers();
    ours.put("__NR_fstat", (long) numbers.fstat());
    ours.put("__NR_gettid", (long) numbers.gettid());
    ours.put("__NR_getdents64", (long) numbers.getdents64());
    ours.put("__NR_mbind", (long) numbers.mbind());
    ours.put("__NR_set_mempolicy", (long) numbers.setMempolicy());
    ours.put("__NR_get_mempolicy", (long) numbers.getMempolicy());
    ours.put("__NR_newfstatat", (long) numbers.newfstatat());
    ours.put("__NR_move_pages", (long) numbers.movePages());
    ours.put("__NR_memfd_create", (long) numbers.memfdCreate());
    ours.put("__NR_pidfd_open", (long) numbers.pidfdOpen());
    ours.put("__NR_pidfd_getfd", (long) numbers.pidfdGetfd());
    ours.put("O_DIRECTORY", (long) abi.openFlags().directory());
    ours.put("O_NOFOLLOW", (long) abi.openFlags().nofollow());
    ours.put("O_TMPFILE", (long) abi.openFlags().tmpfile());
  }

  private static void structs(Map<String, Long> ours, StructLayout stat) {
    struct(ours, "stat", stat);
    struct(ours, "statfs", LibcLayouts.STATFS);
    struct(ours, "rlimit", LibcLayouts.RLIMIT);
    struct(ours, "utsname", LibcLayouts.UTSNAME);
    for (String field : List.of("d_reclen", "d_type", "d_name")) {
      ours.put(
          "offsetof(struct dirent64, " + field + ")",
          LibcLayouts.offset(LibcLayouts.DIRENT64, field));
    }
  }

  private static void struct(Map<String, Long> ours, String name, StructLayout layout) {
    ours.put("sizeof(struct " + name + ")", layout.byteSize());
    layout.memberLayouts().stream()
        .flatMap(member -> member.name().stream())
        .forEach(
            field -> {
              ours.put(
                  "offsetof(struct " + name + ", " + field + ")",
                  LibcLayouts.offset(layout, field));
              ours.put(
                  "sizeof(((struct " + name + " *) 0)->" + field + ")",
                  layout.select(groupElement(field)).byteSize());
            });
  }

  private Map<String, Long> compiled(String compiler, Set<String> names)
      throws IOException, InterruptedException {
    StringBuilder program = new StringBuilder(HEADERS);
    for (String name : names) {
      if (name.indexOf('(') >= 0) {
        program.append("(long long) ").append(name).append(" + ").append(SHIFT).append(",\n");
      } else {
        program.append("#ifdef ").append(name).append('\n');
        program.append("(long long) ").append(name).append(" + ").append(SHIFT).append(",\n");
        program.append("#else\n").append(ABSENT).append(",\n#endif\n");
      }
    }
    program.append("};\n");
    Path source = Files.writeString(folder.resolve("numbers.c"), program);
    Path assembly = folder.resolve("numbers.s");
    Path messages = folder.resolve("messages");
    Process process;
    try {
      process =
          new ProcessBuilder(compiler, "-S", "-o", assembly.toString(), source.toString())
              .redirectErrorStream(true)
              .redirectOutput(messages.toFile())
              .start();
    } catch (IOException noCompiler) {
      assumeTrue(false, "needs the C compiler " + compiler + ": " + noCompiler.getMessage());
      throw noCompiler;
    }
    assertEquals(0, process.waitFor(), () -> "the compiler said " + read(messages));

    List<Long> values = new ArrayList<>();
    Matcher word =
        Pattern.compile("^\\s*\\.(?:quad|xword)\\s+(-?\\d+)", Pattern.MULTILINE)
            .matcher(Files.readString(assembly));
    while (word.find()) {
      values.add(Long.parseLong(word.group(1)));
    }
    assertEquals(names.size(), values.size(), "one word for each name");
    Map<String, Long> theirs = new LinkedHashMap<>();
    int i = 0;
    for (String name : names) {
      long value = values.get(i++);
      if (value != ABSENT) {
        theirs.put(name, value - SHIFT);
      }
    }
    return theirs;
  }

  private static String read(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException unreadable) {
      return unreadable.toString();
    }
  }
}
