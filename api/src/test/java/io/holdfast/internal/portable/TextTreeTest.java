package io.holdfast.internal.portable;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.holdfast.spi.HostKernel;
import io.holdfast.spi.HostKernels;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

class TextTreeTest {
  @TempDir Path root;

  @Test
  void aFixtureTreeStandsInForAMachine() throws IOException {
    Path pools = Files.createDirectories(root.resolve("sys/kernel/mm/hugepages"));
    Files.createDirectory(pools.resolve("hugepages-524288kB"));
    Path small = Files.createDirectory(pools.resolve("hugepages-2048kB"));
    Files.writeString(small.resolve("nr_hugepages"), "7\n");
    HostKernel kernel = HostKernels.systemWithTree(root);

    assertEquals(
        Optional.of("7\n"), kernel.text("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"));
    assertEquals(
        Optional.of("7\n"), kernel.text("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"));
    assertEquals(
        List.of("hugepages-2048kB", "hugepages-524288kB"),
        kernel.names("/sys/kernel/mm/hugepages"));
    assertEquals(List.of("sys"), kernel.names("/"));
    assertEquals(Optional.empty(), kernel.text("/proc/meminfo"));
    assertEquals(List.of(), kernel.names("/sys/devices/system/node"));
  }

  @Test
  void aFolderIsNoTextAndATextNoFolder() throws IOException {
    Files.createDirectory(root.resolve("folder"));
    Files.writeString(root.resolve("text"), "x");
    TextTree tree = new TextTree(root);

    assertEquals(Optional.empty(), tree.text("folder"));
    assertEquals(List.of(), tree.names("text"));
  }

  @Test
  void bytesThatAreNoTextAreReplacedNotRefused() throws IOException {
    Files.write(root.resolve("mounts"), new byte[] {'a', (byte) 0xFF, 'b'});

    assertEquals(Optional.of("a\uFFFDb"), new TextTree(root).text("mounts"));
  }

  @Test
  void aTextOfProcSysIsReadWholeAlthoughItAnswersOneReadOnly() {
    Path setting = Path.of("/proc/sys/kernel/pid_max");
    assumeTrue(Files.isReadable(setting), "needs " + setting);

    // The least that Linux takes is 301, so a single digit is a text cut short.
    String text = new TextTree(Path.of("/")).text(setting.toString()).orElseThrow();

    assertTrue(text.strip().matches("[0-9]{3,}"), text);
  }

  @Test
  void aPathDoesNotLeaveTheTree() {
    TextTree tree = new TextTree(root);

    assertThrows(IllegalArgumentException.class, () -> tree.text("/../etc/passwd"));
    assertThrows(IllegalArgumentException.class, () -> tree.names("proc/../.."));
    assertThrows(IllegalArgumentException.class, () -> tree.text("a\0b"));
  }

  @Test
  @EnabledOnOs(value = OS.LINUX, disabledReason = "needs procfs")
  void a_sysctl_number_is_read_whole() throws Exception {
    Process cat = new ProcessBuilder("cat", "/proc/sys/vm/max_map_count").start();
    String wanted = new String(cat.getInputStream().readAllBytes(), StandardCharsets.UTF_8);

    assertEquals(
        Optional.of(wanted), new TextTree(Path.of("/")).text("/proc/sys/vm/max_map_count"));
  }
}
