package io.holdfast.bench.doctor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.bench.tool.Console;
import io.holdfast.bench.tool.ExitCode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The doctor on a booted machine of two nodes with CPUs and one without: conformance-tests/vm. */
@Tag("full")
final class DoctorInTwoNodesTest {
  private static final int SKIPPED = 77;

  @TempDir static Path out;

  @BeforeAll
  static void boot() throws IOException, InterruptedException {
    Path vm = Path.of("../conformance-tests/vm").toAbsolutePath().normalize();
    Optional<Path> kernel = kernel();
    assumeTrue(kernel.isPresent(), "needs a kernel: conformance-tests/vm/kernels fetches some");
    List<String> command = new ArrayList<>();
    command.addAll(List.of(vm.resolve("two-nodes").toString(), kernel.get().toString()));
    command.add(out.toString());
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"));
    command.addAll(List.of("--enable-native-access=ALL-UNNAMED", "-cp"));
    command.add(System.getProperty("java.class.path"));
    command.addAll(List.of(DoctorGuest.class.getName(), "/out"));
    Path messages = out.resolve("messages");
    Process machine =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(messages.toFile())
            .start();
    int status = machine.waitFor();
    String said = Files.readString(messages);
    assumeTrue(status != SKIPPED, said);
    Path output = out.resolve("output");
    assertEquals(0, status, said);
    assertEquals("0", Files.readString(out.resolve("status")).strip(), Files.readString(output));
  }

  /** The newest that was fetched. */
  private static Optional<Path> kernel() throws IOException {
    String named = System.getenv("HOLDFAST_VM_KERNELS");
    String cache = System.getenv("XDG_CACHE_HOME");
    Path folder =
        named != null
            ? Path.of(named)
            : (cache != null ? Path.of(cache) : Path.of(System.getProperty("user.home"), ".cache"))
                .resolve("holdfast/vm-kernels");
    if (!Files.isDirectory(folder)) {
      return Optional.empty();
    }
    try (Stream<Path> all = Files.list(folder)) {
      return all.filter(one -> Files.exists(one.resolve("vmlinuz"))).max(Path::compareTo);
    }
  }

  private static JsonNode report(String name) throws IOException {
    return Console.json().readTree(out.resolve(name + ".json").toFile());
  }

  private static int code(String name) throws IOException {
    return Integer.parseInt(Files.readAllLines(out.resolve(name + ".code")).getFirst());
  }

  @Test
  void it_sees_three_nodes_their_cpus_and_their_pools() throws IOException {
    JsonNode nodes = report("before").path("nodes");

    assertEquals(3, nodes.size());
    assertEquals("0", nodes.get(0).path("cpus").asText());
    assertEquals("1", nodes.get(1).path("cpus").asText());
    assertEquals("", nodes.get(2).path("cpus").asText(), "memory alone");
    assertEquals(40, poolOf(nodes.get(0)).path("free").asLong());
    assertEquals(20, poolOf(nodes.get(1)).path("free").asLong());
    assertEquals(1, nodes.get(0).path("ranksThatFit").asLong());
    assertEquals(0, nodes.get(1).path("ranksThatFit").asLong());
  }

  private static JsonNode poolOf(JsonNode node) {
    return StreamSupport.stream(node.path("pools").spliterator(), false)
        .filter(pool -> pool.path("pageBytes").asLong() == 2 << 20)
        .findFirst()
        .orElseThrow(() -> new AssertionError("no pool of 2 MiB pages in " + node));
  }

  @Test
  void a_node_with_half_the_pages_is_infeasible_and_the_other_is_not() throws IOException {
    assertEquals(ExitCode.OK, code("other"), report("other")::toString);
    assertEquals(ExitCode.INFEASIBLE, code("before"), report("before")::toString);
    JsonNode verdict = report("before").path("verdict");
    assertFalse(verdict.path("feasible").asBoolean());
    JsonNode missing = verdict.path("shortfalls").get(0);
    assertEquals(1, missing.path("node").asInt());
    assertEquals(40, missing.path("needed").asLong());
    assertEquals(20, missing.path("available").asLong());
  }

  @Test
  void the_command_that_it_prints_is_the_one_that_helps() throws IOException {
    List<String> typed = Files.readAllLines(out.resolve("typed.code"));

    assertTrue(
        typed.getFirst().startsWith("echo 40 > /sys/devices/system/node/node1"), typed::toString);
    assertEquals("0", typed.getLast(), Files.readString(out.resolve("typed")));
    assertEquals(ExitCode.OK, code("after"), report("after")::toString);
    assertEquals(40, poolOf(report("after").path("nodes").get(1)).path("free").asLong());
    assertEquals(
        List.of("nodes[node 1].pools[pageBytes 2097152].total: 20 -> 40"),
        Comparison.of(report("before"), report("after")).stream()
            .filter(line -> line.startsWith("nodes[node 1].pools"))
            .toList());
  }
}
