package io.holdfast.backend.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code ./holdfast conformance --backend cuda} as on a GPU host, every profile, each binding. */
@Tag("full")
final class JudgedHostTest {
  /** What a rule about contexts and captures comes to when there is no engine. */
  private static final Pattern NOT_JUDGED =
      Pattern.compile("\"(STR-\\d\\d)\" : \"(?!PASSED|INVERTED)");

  @TempDir private Path folder;

  @Test
  void the_binding_by_the_foreign_function_interface_keeps_the_rules() throws Exception {
    judge(List.of());
  }

  @Test
  void the_binding_by_jcuda_keeps_the_rules() throws Exception {
    String natives = System.getProperty("java.library.path", "");
    String library = JCudaBindings.nativeLibrary("x86_64");
    assumeTrue(
        Files.exists(Path.of(natives, library)),
        "skipped: JCuda's natives are not in java.library.path " + natives);
    judge(List.of("-Dholdfast.cuda.binding=jcuda", "-Djava.library.path=" + natives));
  }

  private void judge(List<String> options) throws Exception {
    Path report = folder.resolve("report");
    List<String> all = new ArrayList<>(options);
    all.add("-Dholdfast.cache=" + folder.resolve("cache"));
    HostProcess judged =
        HostProcess.run(
            folder, JudgedHost.class, all, "--backend", "cuda", "--report", report.toString());

    assertEquals(0, judged.code(), judged.words());
    String json = Files.readString(report.resolve("report.json"));
    assertTrue(json.contains("\"STR-06\" : \"PASSED\""), judged.words());
    assertEquals(
        List.of(),
        NOT_JUDGED.matcher(json).results().map(found -> found.group(1)).toList(),
        judged.words());
  }
}
