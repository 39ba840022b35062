package io.holdfast.internal.copy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.spi.HostKernel;
import java.io.File;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** Steady-state submission allocates nothing: compiled well, compiled simply, and interpreted. */
class AllocationTest {
  @Test
  void nothingIsAllocatedInC2() throws Exception {
    assertAllocatesNothing(List.of(), "61", "64", "2000", "500");
  }

  @Test
  void nothingIsAllocatedInC1() throws Exception {
    assertAllocatesNothing(List.of("-XX:TieredStopAtLevel=1"), "61", "64", "300", "300");
  }

  @Test
  void nothingIsAllocatedInTheInterpreter() throws Exception {
    assertAllocatesNothing(List.of("-Xint"), "7", "33", "40", "40");
  }

  private static void assertAllocatesNothing(List<String> flags, String... arguments)
      throws IOException, InterruptedException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-Xmx128m", "--enable-native-access=ALL-UNNAMED"));
    command.addAll(flags);
    command.add("-cp");
    command.add(home(HostKernel.class) + File.pathSeparator + home(AllocationProbe.class));
    command.add(AllocationProbe.class.getName());
    command.addAll(List.of(arguments));
    Process child = new ProcessBuilder(command).redirectErrorStream(true).start();
    String said = new String(child.getInputStream().readAllBytes(), StandardCharsets.UTF_8);

    assertEquals(0, child.waitFor(), said);
    List<String> lines = said.lines().toList();
    assertEquals(8, lines.size(), said); // four paths, two directions
    for (String line : lines) {
      String[] words = line.split(" ", -1);
      assertEquals("0", words[2], said);
      assertTrue(Long.parseLong(words[4]) < 4_096, said); // less than one call site in the long run
    }
  }

  // Where a class file really lies; a patched module names its own place for test classes too.
  private static Path home(Class<?> type) {
    String name = type.getName().replace('.', '/') + ".class";
    String url = Objects.requireNonNull(type.getResource("/" + name)).toString();
    return Path.of(URI.create(url.substring(0, url.length() - name.length())));
  }
}
