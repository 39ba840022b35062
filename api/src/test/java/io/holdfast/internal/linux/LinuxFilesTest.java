package io.holdfast.internal.linux;

import static io.holdfast.spi.HostKernel.LockMode.EXCLUSIVE;
import static io.holdfast.spi.HostKernel.LockMode.SHARED;
import static io.holdfast.spi.HostKernel.OpenMode.CREATE_NEW;
import static io.holdfast.spi.HostKernel.OpenMode.EXISTING;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.holdfast.error.Category;
import io.holdfast.error.Errno;
import io.holdfast.error.HostKernelException;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.HostKernel.Advice;
import io.holdfast.spi.HostKernel.DirectoryHandle;
import io.holdfast.spi.HostKernel.FileFacts;
import io.holdfast.spi.HostKernel.FileHandle;
import io.holdfast.spi.HostKernel.FileKind;
import io.holdfast.spi.HostKernel.FileSystemFacts;
import io.holdfast.spi.HostKernel.Mapping;
import io.holdfast.spi.HostKernels;
import java.io.BufferedReader;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

@EnabledOnOs(OS.LINUX)
class LinuxFilesTest {
  private static final long MIB = 1024 * 1024;

  private final HostKernel kernel = HostKernels.system();
  private final long page = kernel.basePageBytes();

  @TempDir Path folder;
  private DirectoryHandle directory;

  @BeforeEach
  void openFolder() {
    directory = kernel.openDirectory(folder);
  }

  @AfterEach
  void closeFolder() {
    kernel.close(directory);
  }

  @Test
  void twoMappingsOfAMemoryFileShowTheSameBytes() {
    FileHandle file = kernel.memoryFile("holdfast-test", 0);
    kernel.resize(file, 4 * page);
    MemorySegment one = kernel.map(4 * page, Mapping.of(file));
    MemorySegment other = kernel.map(2 * page, Mapping.of(file).from(2 * page));
    MemorySegment own = kernel.map(4 * page, Mapping.of(file).with(HostKernel.Sharing.PRIVATE));
    kernel.close(file);

    one.set(JAVA_BYTE, 2 * page + 3, (byte) 5);
    assertEquals(5, other.get(JAVA_BYTE, 3));
    assertEquals(5, own.get(JAVA_BYTE, 2 * page + 3));
    own.set(JAVA_BYTE, 2 * page + 3, (byte) 6);
    assertEquals(5, one.get(JAVA_BYTE, 2 * page + 3));

    for (MemorySegment memory : List.of(one, other, own)) {
      kernel.unmap(memory);
    }
  }

  @Test
  void aMemoryFileHasNoNameAndASealedSizeStays() {
    FileHandle file = kernel.memoryFile("holdfast-test", 0);
    kernel.resize(file, page);
    FileFacts facts = kernel.facts(file);
    assertEquals(0, facts.links());
    assertEquals(page, facts.bytes());
    assertEquals(FileSystemFacts.TMPFS_MAGIC, kernel.fileSystem(file).magic());

    kernel.sealSize(file);

    assertErrno(Errno.EPERM, () -> kernel.resize(file, 0));
    assertErrno(Errno.EPERM, () -> kernel.resize(file, 2 * page));
    kernel.close(file);
  }

  @Test
  void onlyMemoryFilesCanBeSealed() {
    FileHandle file = kernel.open(directory, "plain", CREATE_NEW);

    assertErrno(Errno.EINVAL, () -> kernel.sealSize(file));
    kernel.close(file);
  }

  @Test
  void aNewFileIsOursAloneAndCannotBeMadeTwice() throws IOException {
    FileHandle file = kernel.open(directory, "region", CREATE_NEW);
    FileFacts facts = kernel.facts(file);

    assertEquals(FileKind.REGULAR, facts.kind());
    assertEquals(0, facts.permissions() & 0177);
    assertEquals(0, facts.bytes());
    assertEquals(1, facts.links());
    assertEquals(Files.getAttribute(folder.resolve("region"), "unix:ino"), facts.inode());
    assertEquals(Files.getAttribute(folder.resolve("region"), "unix:uid"), facts.owner());
    assertErrno(Errno.EEXIST, () -> kernel.open(directory, "region", CREATE_NEW));
    kernel.close(file);
  }

  @Test
  void aNameIsFoundAgainAsTheSameFileUntilItIsUnlinked() {
    FileHandle file = kernel.open(directory, "region", CREATE_NEW);
    kernel.resize(file, 12_345);
    FileHandle again = kernel.open(directory, "region", EXISTING);
    assertTrue(kernel.facts(file).sameFileAs(kernel.facts(again)));
    assertEquals(12_345, kernel.factsOf(directory, "region").bytes());
    assertTrue(kernel.facts(file).sameFileAs(kernel.factsOf(directory, "region")));

    kernel.unlink(directory, "region");

    assertEquals(0, kernel.facts(file).links());
    assertErrno(Errno.ENOENT, () -> kernel.open(directory, "region", EXISTING));
    assertErrno(Errno.ENOENT, () -> kernel.factsOf(directory, "region"));
    assertErrno(Errno.ENOENT, () -> kernel.unlink(directory, "region"));
    FileHandle successor = kernel.open(directory, "region", CREATE_NEW);
    assertFalse(kernel.facts(file).sameFileAs(kernel.facts(successor)));
    kernel.close(file);
    kernel.close(again);
    kernel.close(successor);
  }

  @Test
  void aLinkIsNotFollowed() throws IOException {
    Files.writeString(folder.resolve("target"), "x");
    Files.createSymbolicLink(folder.resolve("link"), Path.of("target"));

    assertErrno(Errno.ELOOP, () -> kernel.open(directory, "link", EXISTING));
    assertErrno(Errno.EEXIST, () -> kernel.open(directory, "link", CREATE_NEW));
    assertEquals(FileKind.LINK, kernel.factsOf(directory, "link").kind());
  }

  @Test
  void aNameWithAPathInItIsMisuse() {
    for (String name : List.of("", ".", "..", "../x", "a/b", "/etc/passwd", "a\0b")) {
      assertThrows(
          IllegalArgumentException.class, () -> kernel.open(directory, name, CREATE_NEW), name);
      assertThrows(IllegalArgumentException.class, () -> kernel.unlink(directory, name), name);
      assertThrows(IllegalArgumentException.class, () -> kernel.factsOf(directory, name), name);
    }
  }

  @Test
  void aDirectoryHandleStaysInItsDirectoryThoughThePathNowLeadsElsewhere() throws IOException {
    Path moved = folder.resolve("moved");
    Path original = Files.createDirectory(folder.resolve("original"));
    DirectoryHandle held = kernel.openDirectory(original);
    Files.move(original, moved);
    Files.createDirectory(original);

    kernel.close(kernel.open(held, "region", CREATE_NEW));

    assertTrue(Files.exists(moved.resolve("region")));
    assertFalse(Files.exists(original.resolve("region")));
    kernel.close(held);
  }

  @Test
  void onlyADirectoryThatIsThereCanBeOpened() throws IOException {
    Files.writeString(folder.resolve("file"), "x");

    assertErrno(Errno.ENOENT, () -> kernel.openDirectory(folder.resolve("absent")));
    assertErrno(Errno.ENOTDIR, () -> kernel.openDirectory(folder.resolve("file")));
    assertEquals(FileKind.DIRECTORY, kernel.facts(directory).kind());
  }

  @Test
  void allNamesOfADirectoryAreListedInOrderAsOftenAsAsked() throws IOException {
    List<String> names = new ArrayList<>();
    for (int i = 0; i < 300; i++) {
      names.add("a-rather-long-name-for-a-file-" + i);
      Files.createFile(folder.resolve(names.get(i)));
    }
    Collections.sort(names);

    assertEquals(names, kernel.entries(directory));
    assertEquals(names, kernel.entries(directory));
  }

  @Test
  void aNamelessFileLeavesNothingInItsDirectory() {
    FileHandle file;
    try {
      file = kernel.openNameless(directory);
    } catch (HostKernelException refused) {
      assumeTrue(
          !refused.is(Errno.EOPNOTSUPP), "needs a file system with nameless files: " + folder);
      throw refused;
    }
    kernel.resize(file, page);
    MemorySegment memory = kernel.map(page, Mapping.of(file));
    memory.set(JAVA_BYTE, 0, (byte) 1);

    assertEquals(List.of(), kernel.entries(directory));
    assertEquals(0, kernel.facts(file).links());
    assertEquals(FileKind.REGULAR, kernel.facts(file).kind());
    kernel.unmap(memory);
    kernel.close(file);
  }

  @Test
  void descriptorsAreNotInheritedOverExec() throws IOException {
    FileHandle file = kernel.open(directory, "region", CREATE_NEW);
    FileHandle memory = kernel.memoryFile("holdfast-test", 0);

    for (int descriptor : List.of(file.descriptor(), memory.descriptor(), directory.descriptor())) {
      String info = kernel.text("/proc/self/fdinfo/" + descriptor).orElseThrow();
      String flags = info.lines().filter(line -> line.startsWith("flags:")).findFirst().orElse("");
      long octal = Long.parseLong(flags.replaceAll("\\D", ""), 8);
      assertNotEquals(0, octal & LibcBindings.O_CLOEXEC, info);
    }
    kernel.close(file);
    kernel.close(memory);
  }

  @Test
  void closingTwiceIsTheKernelsEbadf() {
    FileHandle file = kernel.memoryFile("holdfast-test", 0);
    int descriptor = file.descriptor();
    kernel.close(file);
    assumeTrue(
        kernel.text("/proc/self/fdinfo/" + descriptor).isEmpty(),
        "needs the number to stay free for a moment");

    assertErrno(Errno.EBADF, () -> kernel.close(file));
  }

  @Test
  void aTmpfsThatIsTooSmallRefusesToAllocateAndTakesNothing() throws Exception {
    Path mount = Files.createDirectory(folder.resolve("mount"));
    assumeTrue(
        run("mount", "-t", "tmpfs", "-o", "size=4m", "holdfast-test", mount.toString()) == 0,
        "needs the right to mount a tmpfs");
    try {
      DirectoryHandle small = kernel.openDirectory(mount);
      FileSystemFacts before = kernel.fileSystem(small);
      assertEquals(FileSystemFacts.TMPFS_MAGIC, before.magic());
      assertEquals(4 * MIB, before.blocks() * before.blockBytes());
      FileHandle file = kernel.open(small, "region", CREATE_NEW);

      // The length alone is not checked by the kernel; that is why there is an allocate.
      kernel.resize(file, 6 * MIB);
      HostKernelException refused = assertErrno(Errno.ENOSPC, () -> kernel.allocate(file, 6 * MIB));
      assertEquals("fallocate", refused.operation());
      assertEquals(Category.SHORTFALL, refused.category());
      assertEquals(before.freeBlocks(), kernel.fileSystem(small).freeBlocks());

      MemorySegment memory = kernel.map(6 * MIB, Mapping.of(file));
      assertErrno(Errno.EFAULT, () -> kernel.advise(memory, Advice.POPULATE_WRITE));
      kernel.unmap(memory);

      kernel.resize(file, 0);
      kernel.allocate(file, 3 * MIB);
      assertEquals(3 * MIB, kernel.facts(file).bytes());
      assertEquals(3 * MIB, kernel.facts(file).allocatedBytes());
      kernel.close(file);
      kernel.close(small);
    } finally {
      assertEquals(0, run("umount", mount.toString()));
    }
  }

  @Test
  void aFileSystemOnHugePagesIsToldByItsMagicAndPage() throws Exception {
    Path mount = Files.createDirectory(folder.resolve("mount"));
    assumeTrue(
        run("mount", "-t", "hugetlbfs", "-o", "pagesize=2M", "none", mount.toString()) == 0,
        "needs the right to mount a hugetlbfs of 2 MiB pages");
    try {
      DirectoryHandle huge = kernel.openDirectory(mount);

      FileSystemFacts facts = kernel.fileSystem(huge);

      assertEquals(FileSystemFacts.HUGETLBFS_MAGIC, facts.magic());
      assertEquals(2 * MIB, facts.blockBytes());
      assertEquals(0, facts.blocks(), "a mount without a size has no limit");
      kernel.close(huge);
    } finally {
      assertEquals(0, run("umount", mount.toString()));
    }
  }

  @Test
  void aLockThatAnotherProcessHoldsIsRefusedUntilThatProcessDies() throws Exception {
    FileHandle file = kernel.open(directory, "lock", CREATE_NEW);
    Process other =
        ChildJvm.start(
            LockHolder.class,
            List.of("--enable-native-access=ALL-UNNAMED"),
            folder.toString(),
            "lock");
    try (BufferedReader said = other.inputReader(StandardCharsets.UTF_8)) {
      assertEquals("locked", said.readLine());
      assertFalse(kernel.tryLock(file, EXCLUSIVE));
      assertFalse(kernel.tryLock(file, SHARED));
    } finally {
      other.destroyForcibly();
      other.waitFor();
    }

    assertTrue(kernel.tryLock(file, EXCLUSIVE));
    kernel.close(file);
  }

  @Test
  void sharedLocksGoTogetherAndUnlockGivesUp() {
    FileHandle one = kernel.open(directory, "lock", CREATE_NEW);
    FileHandle two = kernel.open(directory, "lock", EXISTING);

    assertTrue(kernel.tryLock(one, SHARED));
    assertTrue(kernel.tryLock(two, SHARED));
    assertFalse(kernel.tryLock(two, EXCLUSIVE));
    kernel.unlock(one);
    assertTrue(kernel.tryLock(two, EXCLUSIVE));
    assertFalse(kernel.tryLock(one, SHARED));
    kernel.close(two);
    assertTrue(kernel.tryLock(one, EXCLUSIVE));
    kernel.close(one);
  }

  @Test
  void aMemoryFileOfAnotherProcessIsTakenByItsNumber() throws Exception {
    Process other =
        ChildJvm.start(
            MemoryHolder.class, List.of("--enable-native-access=ALL-UNNAMED"), "held bytes");
    try (BufferedReader said = other.inputReader(StandardCharsets.UTF_8)) {
      int descriptor = Integer.parseInt(said.readLine());

      FileHandle file = kernel.takeFrom(other.pid(), descriptor);

      MemorySegment memory = kernel.map(page, Mapping.of(file));
      assertEquals("held bytes", memory.getString(0));
      kernel.unmap(memory);
      kernel.close(file);
      assertErrno(Errno.EBADF, () -> kernel.takeFrom(other.pid(), 1_000_000));
    } finally {
      other.destroyForcibly();
      other.waitFor();
    }
    assertErrno(Errno.ESRCH, () -> kernel.takeFrom(other.pid(), 0));
  }

  private static int run(String... command) throws Exception {
    return new ProcessBuilder(command)
        .redirectErrorStream(true)
        .redirectOutput(ProcessBuilder.Redirect.DISCARD)
        .start()
        .waitFor();
  }

  private static HostKernelException assertErrno(Errno expected, Executable call) {
    HostKernelException refused = assertThrows(HostKernelException.class, call);
    assertTrue(refused.is(expected), refused.getMessage());
    return refused;
  }

  /** Locks a file and waits to be killed. */
  static final class LockHolder {
    private LockHolder() {}

    public static void main(String[] arguments) throws IOException {
      HostKernel kernel = HostKernels.system();
      DirectoryHandle directory = kernel.openDirectory(Path.of(arguments[0]));
      FileHandle file = kernel.open(directory, arguments[1], EXISTING);
      say(kernel.tryLock(file, EXCLUSIVE) ? "locked" : "refused");
      System.in.read();
    }
  }

  /** Keeps a text in a memory file and waits to be killed. */
  static final class MemoryHolder {
    private MemoryHolder() {}

    public static void main(String[] arguments) throws IOException {
      HostKernel kernel = HostKernels.system();
      FileHandle file = kernel.memoryFile("holdfast-test", 0);
      kernel.resize(file, kernel.basePageBytes());
      MemorySegment memory = kernel.map(kernel.basePageBytes(), Mapping.of(file));
      memory.setString(0, arguments[0]);
      say(Integer.toString(file.descriptor()));
      System.in.read();
    }
  }

  private static void say(String line) {
    System.out.println(line);
  }
}
