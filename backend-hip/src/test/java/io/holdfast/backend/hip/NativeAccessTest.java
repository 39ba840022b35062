package io.holdfast.backend.hip;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.Availability.Unavailable;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What a Java runtime that refuses native calls makes of a probe; each in a JVM of its own. */
final class NativeAccessTest {

  /** Runs in the child: two probes, since the first one breaks the binding's class. */
  static final class Child {
    private Child() {}

    public static void main(String[] arguments) {
      for (int i = 0; i < 2; i++) {
        Unavailable why = (Unavailable) new HipProvider().probe((what, outcome) -> {});
        System.out.println(why.reason() + " | " + why.remedy()); // the parent reads it
      }
    }
  }

  @Test
  void b84_deniedNativeAccessIsAReasonWithTheFlagAndNoThrow() throws Exception {
    Process child =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--illegal-native-access=deny",
                "-Dholdfast.hip.library=/no/libamdhip64.so.7", // or nothing would be loaded here
                "-cp",
                String.join(
                    ":",
                    System.getProperty("java.class.path"),
                    System.getProperty("jdk.module.path", ""), // where tests run inside the module
                    Path.of("target", "test-classes").toAbsolutePath().toString()),
                Child.class.getName())
            .redirectErrorStream(true)
            .start();
    List<String> lines;
    try (var output = child.inputReader()) {
      lines = output.lines().toList();
    }

    assertEquals(0, child.waitFor(), () -> String.join("\n", lines));
    assertEquals(2, lines.size(), () -> String.join("\n", lines));
    for (String line : lines) {
      assertTrue(
          line.endsWith(
              "does not let code on the class path call native code | Start Java with"
                  + " --enable-native-access=ALL-UNNAMED"),
          line);
    }
  }
}
