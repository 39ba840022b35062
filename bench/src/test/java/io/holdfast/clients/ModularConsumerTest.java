package io.holdfast.clients;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.Backends;
import io.holdfast.spi.BackendProvider;
import io.micrometer.common.KeyValue;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.observation.Observation;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** An engine that is a module, on a machine that has neither jcuda, jspecify nor Micrometer. */
final class ModularConsumerTest {
  private static final String MAIN =
      """
      package consumer;

      import io.holdfast.Backend;
      import io.holdfast.Backends;
      import io.holdfast.Device;
      import io.holdfast.device.DeviceAllocation;

      public final class Main {
        public static void main(String[] arguments) {
          System.out.println("module " + Backends.class.getModule().getName());
          System.out.println(Backends.discover().describe());
          try (Backend backend = Backends.select("cpu-sim");
              Device device = backend.open(0);
              DeviceAllocation memory = device.memory().allocate(4096)) {
            System.out.println("allocated " + memory.segment().byteSize());
          }
        }
      }
      """;

  @TempDir Path folder;

  @Test
  void a_modular_consumer_compiles_and_runs_on_the_module_path() throws Exception {
    List<Path> artifacts = artifacts();
    assertTrue(artifacts.size() >= 4, "api and three backends, not " + artifacts);
    Javac.Outcome compiled =
        Javac.compile(
            folder,
            List.of("-Xlint:all", "-Werror", "-p", Javac.artifactOf(Backends.class).toString()),
            Map.of(
                "consumer/Main.java",
                MAIN,
                "module-info.java",
                "module consumer { requires io.holdfast.api; }"));
    assertTrue(compiled.succeeded(), compiled::errors);

    String output =
        run(
            "--illegal-native-access=deny",
            "--enable-native-access=io.holdfast.api,io.holdfast.backend.cpusim,"
                + "io.holdfast.backend.cuda,io.holdfast.backend.hip",
            "-p",
            path(Stream.concat(Stream.of(folder), artifacts.stream())),
            "-m",
            "consumer/consumer.Main");

    assertTrue(output.contains("module io.holdfast.api"), output);
    assertTrue(output.contains("allocated 4096"), output);
    for (String backend : List.of("cuda", "hip", "cpusim")) {
      assertTrue(output.contains("module io.holdfast.backend." + backend), output);
    }
  }

  @Test
  void a_module_that_has_micrometer_binds_a_backend() throws Exception {
    List<Path> micrometer =
        Stream.of(MeterRegistry.class, KeyValue.class, Observation.class)
            .map(Javac::artifactOf)
            .toList();
    Javac.Outcome compiled =
        Javac.compile(
            folder,
            List.of(
                "-p",
                path(
                    Stream.concat(
                        Stream.of(Javac.artifactOf(Backends.class)), micrometer.stream()))),
            Map.of(
                "consumer/Bind.java",
                """
                package consumer;

                import io.holdfast.Backend;
                import io.holdfast.Backends;
                import io.holdfast.micrometer.HoldfastMetrics;
                import io.micrometer.core.instrument.simple.SimpleMeterRegistry;

                public final class Bind {
                  public static void main(String[] arguments) {
                    SimpleMeterRegistry registry = new SimpleMeterRegistry();
                    try (Backend backend = Backends.select("cpu-sim");
                        HoldfastMetrics metrics = new HoldfastMetrics(backend)) {
                      metrics.bindTo(registry);
                      System.out.println(
                          "open " + registry.get("holdfast.regions.open").gauge().value());
                    }
                  }
                }
                """,
                "module-info.java",
                "module consumer { requires io.holdfast.api; requires micrometer.core; }"));
    assertTrue(compiled.succeeded(), compiled::errors);

    String output =
        run(
            "--enable-native-access=io.holdfast.api,io.holdfast.backend.cpusim,"
                + "io.holdfast.backend.cuda,io.holdfast.backend.hip",
            "-p",
            path(Stream.of(List.of(folder), artifacts(), micrometer).flatMap(List::stream)),
            "-m",
            "consumer/consumer.Bind");

    assertTrue(output.contains("open 0.0"), output);
  }

  @Test
  void without_native_access_every_backend_names_the_flag_and_nothing_throws() throws Exception {
    Javac.Outcome compiled =
        Javac.compile(
            folder,
            List.of("-cp", Javac.artifactOf(Backends.class).toString()),
            Map.of(
                "consumer/Look.java",
                """
                package consumer;
                public final class Look {
                  public static void main(String[] arguments) {
                    System.out.println(io.holdfast.Backends.discover().describe());
                  }
                }
                """));
    assertTrue(compiled.succeeded(), compiled::errors);

    String output =
        run(
            "--illegal-native-access=deny",
            "-cp",
            path(Stream.concat(Stream.of(folder), artifacts().stream())),
            "consumer.Look");

    // The HIP backend calls nothing where there is no device node.
    boolean amd = Files.exists(Path.of("/dev/kfd")) || Files.exists(Path.of("/dev/dxg"));
    assertEquals(
        amd ? 3 : 2, output.split("--enable-native-access=ALL-UNNAMED", -1).length - 1, output);
  }

  @Test
  void the_same_runs_on_the_class_path() throws Exception {
    Javac.Outcome compiled =
        Javac.compile(
            folder,
            List.of("-cp", Javac.artifactOf(Backends.class).toString()),
            Map.of("consumer/Main.java", MAIN));
    assertTrue(compiled.succeeded(), compiled::errors);

    String output =
        run(
            "--enable-native-access=ALL-UNNAMED",
            "-cp",
            path(Stream.concat(Stream.of(folder), artifacts().stream())),
            "consumer.Main");

    assertTrue(output.contains("module null"), output);
    assertTrue(output.contains("allocated 4096"), output);
  }

  private static List<Path> artifacts() {
    List<Path> artifacts = new ArrayList<>();
    artifacts.add(Javac.artifactOf(Backends.class));
    ServiceLoader.load(BackendProvider.class).stream()
        .map(provider -> Javac.artifactOf(provider.type()))
        .distinct()
        .forEach(artifacts::add);
    return artifacts;
  }

  private static String path(Stream<Path> entries) {
    return entries.map(Path::toString).collect(Collectors.joining(File.pathSeparator));
  }

  private static String run(String... arguments) throws IOException, InterruptedException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of(arguments));
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, process.waitFor(), output);
    return output;
  }
}
