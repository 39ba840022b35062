package io.holdfast.spi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.spi.LibraryFile.Distrust;
import io.holdfast.spi.LibraryFile.Facts;
import io.holdfast.spi.LibraryFile.Flaw;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Paths on told machines, on which this process's user is 1000; and a few on this one. */
@DisabledOnOs(value = OS.WINDOWS, disabledReason = "its paths and permissions are others")
final class LibraryFileTest {
  private static final int ROOT = 0;
  private static final int ME = 1000;
  private static final int OTHER = 1001;

  private final Map<Path, Facts> files = new HashMap<>();

  @BeforeEach
  void usualFolders() {
    folder("/", 0755, ROOT);
    folder("/usr", 0755, ROOT);
    folder("/usr/lib", 0755, ROOT);
    folder("/home", 0755, ROOT);
    folder("/home/me", 0700, ME);
    folder("/tmp", 01777, ROOT);
  }

  @Test
  void whatOnlyRootAndThisUserCanChangePasses() {
    file("/usr/lib/libx.so", 0644, ROOT);
    file("/home/me/libx.so", 0755, ME);

    assertEquals(Optional.empty(), judge("/usr/lib/libx.so"));
    assertEquals(Optional.empty(), judge("/home/me/libx.so"));
    assertEquals(Optional.empty(), judge("/usr/./lib/../../home/me//libx.so"));
  }

  @Test
  void aStickyFolderIsNoHarmToWhatIsOursInside() {
    folder("/tmp/mine", 0700, ME);
    file("/tmp/mine/libx.so", 0755, ME);
    file("/tmp/liby.so", 0755, ME);

    assertEquals(Optional.empty(), judge("/tmp/mine/libx.so"));
    assertEquals(Optional.empty(), judge("/tmp/liby.so"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "libx.so", "./libx.so", "../usr/lib/libx.so", "a\0b"})
  void relativePathsAndTextsThatAreNoPathAreRefused(String path) {
    assertFlaw(Flaw.RELATIVE, null, path);
  }

  @ParameterizedTest
  @ValueSource(ints = {0775, 0757, 0777, 0666, 0620})
  void aFileThatGroupOrOthersCanWriteToIsRefused(int mode) {
    file("/usr/lib/libx.so", mode, ROOT);

    assertFlaw(Flaw.WRITABLE_BY_OTHERS, "/usr/lib/libx.so", "/usr/lib/libx.so");
  }

  @ParameterizedTest
  @ValueSource(ints = {0775, 0757, 0777})
  void anyFolderAboveThatGroupOrOthersCanWriteToIsRefused(int mode) {
    folder("/home/me/open", mode, ME);
    folder("/home/me/open/closed", 0700, ME);
    file("/home/me/open/closed/libx.so", 0755, ME);

    assertFlaw(Flaw.WRITABLE_BY_OTHERS, "/home/me/open", "/home/me/open/closed/libx.so");
  }

  @Test
  void theStickyBitOfAFileIsNone() {
    file("/usr/lib/libx.so", 01777, ROOT);

    assertFlaw(Flaw.WRITABLE_BY_OTHERS, "/usr/lib/libx.so", "/usr/lib/libx.so");
  }

  @Test
  void anotherUsersFileFolderOrLinkIsRefused() {
    folder("/home/you", 0755, OTHER);
    file("/home/you/libx.so", 0755, ROOT);
    file("/tmp/liby.so", 0755, OTHER);
    file("/usr/lib/libz.so", 0755, ROOT);
    link("/tmp/libz.so", "/usr/lib/libz.so", OTHER);

    assertFlaw(Flaw.OWNED_BY_ANOTHER, "/home/you", "/home/you/libx.so");
    assertFlaw(Flaw.OWNED_BY_ANOTHER, "/tmp/liby.so", "/tmp/liby.so");
    assertFlaw(Flaw.OWNED_BY_ANOTHER, "/tmp/libz.so", "/tmp/libz.so");
  }

  @Test
  void whereTheUserIsNotKnownOnlyRootIsTrusted() {
    file("/usr/lib/libx.so", 0755, ROOT);
    file("/home/me/libx.so", 0755, ME);

    assertEquals(
        Optional.empty(),
        LibraryFile.distrust("/usr/lib/libx.so", this::look, OptionalInt.empty()));
    assertEquals(
        Flaw.OWNED_BY_ANOTHER,
        LibraryFile.distrust("/home/me/libx.so", this::look, OptionalInt.empty())
            .orElseThrow()
            .flaw());
  }

  @Test
  void linksAreFollowedAndWhatTheyLeadToIsJudged() {
    folder("/opt", 0755, ROOT);
    link("/opt/rocm", "rocm-7.0", ROOT);
    folder("/opt/rocm-7.0", 0755, ROOT);
    link("/opt/rocm-7.0/lib", "/home/me/open", ROOT);
    folder("/home/me/open", 0777, ME);
    file("/home/me/open/libx.so", 0755, ME);
    link("/usr/lib/libup.so", "../../home/me/./libx.so", ROOT);
    file("/home/me/libx.so", 0755, ME);

    assertFlaw(Flaw.WRITABLE_BY_OTHERS, "/home/me/open", "/opt/rocm/lib/libx.so");
    assertEquals(Optional.empty(), judge("/usr/lib/libup.so"));
  }

  @Test
  void linksInARingLeadNowhere() {
    link("/usr/lib/a.so", "b.so", ROOT);
    link("/usr/lib/b.so", "a.so", ROOT);

    assertEquals(Optional.empty(), judge("/usr/lib/a.so"));
  }

  @Test
  void whatIsNotThereIsRefusedOnlyWhereAnybodyCouldPutIt() {
    link("/usr/lib/gone.so", "/tmp/gone.so", ROOT);

    assertEquals(Optional.empty(), judge("/usr/lib/libx.so"));
    assertEquals(Optional.empty(), judge("/usr/none/at/all/libx.so"));
    assertFlaw(Flaw.OPEN_TO_ALL, "/tmp/libx.so", "/tmp/libx.so");
    assertFlaw(Flaw.OPEN_TO_ALL, "/tmp/sub", "/tmp/sub/libx.so");
    assertFlaw(Flaw.OPEN_TO_ALL, "/tmp/gone.so", "/usr/lib/gone.so");
  }

  @Test
  void theWordsNameThePlaceTheModeAndTheCommand() {
    folder("/home/me/open", 0777, ME);
    file("/home/me/open/libx.so", 0755, ME);

    Distrust distrust = judge("/home/me/open/libx.so").orElseThrow();

    assertEquals("other users may write to /home/me/open (mode 777)", distrust.reason());
    assertEquals(
        "chmod go-w '/home/me/open', or name a copy where only root and this user can write",
        distrust.remedy());
  }

  @Test
  void thisMachinesFilesAreLookedAt(@TempDir Path folder) throws IOException {
    Path library = Files.createFile(folder.resolve("libx.so"));
    Files.setPosixFilePermissions(library, PosixFilePermissions.fromString("rwxr-xr-x"));
    Path link = Files.createSymbolicLink(folder.resolve("link.so"), library);

    assertEquals(Optional.empty(), LibraryFile.distrust(link.toString()));

    Files.setPosixFilePermissions(library, PosixFilePermissions.fromString("rwxrwxr-x"));
    Distrust distrust = LibraryFile.distrust(link.toString()).orElseThrow();
    assertEquals(Flaw.WRITABLE_BY_OTHERS, distrust.flaw());
    assertEquals(library.toRealPath(), distrust.where());
    assertTrue(LibraryFile.distrust(folder.resolve("none.so").toString()).isEmpty());
  }

  private Optional<Distrust> judge(String path) {
    return LibraryFile.distrust(path, this::look, OptionalInt.of(ME));
  }

  private void assertFlaw(Flaw flaw, String where, String path) {
    Distrust distrust = judge(path).orElseThrow();
    assertEquals(flaw, distrust.flaw());
    if (where != null) {
      assertEquals(Path.of(where), distrust.where());
    }
  }

  private Optional<Facts> look(Path path) {
    return Optional.ofNullable(files.get(path));
  }

  private void folder(String path, int mode, int owner) {
    files.put(Path.of(path), new Facts(0040000 | mode, owner, null));
  }

  private void file(String path, int mode, int owner) {
    files.put(Path.of(path), new Facts(0100000 | mode, owner, null));
  }

  private void link(String path, String target, int owner) {
    files.put(Path.of(path), new Facts(0120777, owner, Path.of(target)));
  }
}
