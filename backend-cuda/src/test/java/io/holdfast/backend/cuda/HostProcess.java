package io.holdfast.backend.cuda;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * What became of a Java that finds the simulated library as any program finds its driver.
 *
 * @param code its exit code
 * @param words what it wrote
 */
record HostProcess(int code, String words) {
  /**
   * Runs one.
   *
   * @param folder where the library goes, and where the process runs
   * @param main binds the library that it finds to a machine
   * @param options of the Java runtime
   * @param arguments of main
   */
  static HostProcess run(Path folder, Class<?> main, List<String> options, String... arguments)
      throws IOException, InterruptedException {
    SimulatedLibcuda.compileForAll(folder);
    List<String> command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-Xmx256m",
                "-cp",
                String.join(
                    ":",
                    System.getProperty("java.class.path"),
                    System.getProperty("jdk.module.path", ""), // where tests run inside the module
                    Path.of("target", "test-classes").toAbsolutePath().toString())));
    command.addAll(options);
    command.add(main.getName());
    command.addAll(List.of(arguments));
    ProcessBuilder builder =
        new ProcessBuilder(command).directory(folder.toFile()).redirectErrorStream(true);
    builder.environment().put("LD_LIBRARY_PATH", folder.toString());
    Process process = builder.start();
    try (var output = process.inputReader()) {
      String words = String.join("\n", output.lines().toList());
      return new HostProcess(process.waitFor(), words);
    }
  }
}
