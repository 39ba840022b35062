package io.holdfast.bench.doctor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.bench.Holdfast;
import io.holdfast.bench.tool.Console;
import io.holdfast.bench.tool.ExitCode;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** What the doctor says of hosts that are known. */
final class DoctorTest {
  @TempDir Path folder;

  private record Run(int code, String out, String err) {
    JsonNode json() {
      try {
        return Console.json().readTree(out);
      } catch (JsonProcessingException wrong) {
        throw new AssertionError("no JSON on standard output: " + out + err, wrong);
      }
    }
  }

  private static Run doctor(String... arguments) {
    List<String> all = new ArrayList<>(List.of("doctor"));
    all.addAll(List.of(arguments));
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    int code = Holdfast.run(all.toArray(String[]::new), new PrintWriter(out), new PrintWriter(err));
    return new Run(code, out.toString(), err.toString());
  }

  private static List<String> texts(JsonNode array, String field) {
    return StreamSupport.stream(array.spliterator(), false)
        .map(one -> one.path(field).asText())
        .toList();
  }

  private static JsonNode find(JsonNode array, String field, String value) {
    return StreamSupport.stream(array.spliterator(), false)
        .filter(one -> one.path(field).asText().equals(value))
        .findFirst()
        .orElseThrow(() -> new AssertionError("no " + field + " " + value + " in " + array));
  }

  @Test
  void gb200_lacks_pages_on_both_nodes_and_says_which_to_reserve_where() {
    Run run =
        doctor(
            "--backend=cpu-sim:gb200",
            "--ranks=4",
            "--bytes-per-rank=100GiB",
            "--pages=512MB",
            "--numa=nearest",
            "--no-measure",
            "--json");

    assertEquals(ExitCode.INFEASIBLE, run.code(), run.err());
    JsonNode found = run.json();
    assertFalse(found.path("verdict").path("feasible").asBoolean());
    assertEquals(65_536, found.path("host").path("basePageBytes").asLong());
    assertEquals(6, found.path("nodes").size());
    JsonNode places = found.path("verdict").path("places");
    assertEquals(List.of("bind [0]", "bind [1]"), texts(places, "numa"));
    assertEquals(List.of("2", "2"), texts(places, "ranks"));
    for (String node : List.of("0", "1")) {
      JsonNode missing = find(found.path("verdict").path("shortfalls"), "node", node);
      assertEquals(400, missing.path("needed").asLong());
      assertEquals(256, missing.path("available").asLong());
      assertEquals(144, missing.path("missing").asLong());
    }
    List<String> remedies = texts(found.path("remedies"), "text");
    String folder = "/hugepages/hugepages-524288kB/nr_hugepages";
    assertTrue(
        remedies.containsAll(
            List.of(
                "echo 400 > /sys/devices/system/node/node0" + folder,
                "echo 400 > /sys/devices/system/node/node1" + folder,
                "hugepagesz=512M hugepages=0:400,1:400")),
        remedies.toString());
  }

  @Test
  void the_page_shows_the_report_that_is_printed() throws IOException {
    Run run =
        doctor(
            "--backend=cpu-sim:gb200",
            "--ranks=4",
            "--bytes-per-rank=100GiB",
            "--pages=512MB",
            "--numa=nearest",
            "--no-measure");

    String page = Files.readString(Path.of("..", "docs", "doctor.md"));
    assertTrue(
        page.contains("\n```\n" + run.out() + "```\n"),
        () -> "docs/doctor.md needs this:\n" + run.out());
  }

  @Test
  void gb200_holds_what_fits_and_tells_how_its_devices_pin() {
    Run run =
        doctor(
            "--backend=cpu-sim:gb200",
            "--ranks=4",
            "--bytes-per-rank=64GiB",
            "--pages=512MB",
            "--numa=nearest",
            "--no-measure",
            "--json");

    assertEquals(ExitCode.OK, run.code(), run.out() + run.err());
    JsonNode found = run.json();
    assertTrue(found.path("verdict").path("feasible").asBoolean());
    assertEquals(0, found.path("remedies").size());
    assertEquals(
        List.of("0", "0", "1", "1"), texts(found.path("devices"), "node"), "each device's node");
    assertEquals(List.of("2", "2", "0", "0", "0", "0"), texts(found.path("nodes"), "ranksThatFit"));
    assertTrue(
        find(found.path("findings"), "about", "pins")
            .path("text")
            .asText()
            .contains("reads host page tables"));
  }

  @Test
  void memory_of_a_device_is_no_place_for_a_pool() {
    Run run =
        doctor(
            "--backend=cpu-sim:gb200",
            "--bytes-per-rank=1GiB",
            "--numa=bind:2",
            "--no-measure",
            "--json");

    assertTrue(
        find(run.json().path("findings"), "about", "numa").path("text").asText().contains("node 2"),
        run.out());
  }

  @Test
  void wsl_has_no_pool_and_a_small_budget_of_pins() {
    Run run =
        doctor(
            "--backend=cpu-sim:wsl2",
            "--bytes-per-rank=4GiB",
            "--pages=2MB",
            "--no-measure",
            "--json");

    assertEquals(ExitCode.INFEASIBLE, run.code(), run.err());
    JsonNode found = run.json();
    assertTrue(found.path("host").path("wsl").asBoolean());
    assertEquals(2048, found.path("verdict").path("shortfalls").get(0).path("missing").asLong());
    assertEquals("warning", find(found.path("findings"), "about", "wsl").path("weight").asText());
    assertTrue(
        find(found.path("findings"), "about", "memlock").path("text").asText().contains("65536"));
    assertTrue(texts(found.path("remedies"), "text").contains("hugepagesz=2M hugepages=2048"));
  }

  @Test
  void wsl_holds_base_pages_and_still_warns() {
    Run run = doctor("--backend=cpu-sim:wsl2", "--bytes-per-rank=4GiB", "--no-measure", "--json");

    assertEquals(ExitCode.OK, run.code(), run.err());
    assertEquals(
        "warning", find(run.json().path("findings"), "about", "wsl").path("weight").asText());
  }

  @Test
  @EnabledOnOs(OS.LINUX)
  void a_pod_is_bound_by_its_own_limit_though_the_host_has_pages() throws IOException {
    Path root = HostTree.write("kubernetes-pod.txt", folder);

    Run run = doctor("--root=" + root, "--bytes-per-rank=6GiB", "--pages=2MB", "--json");

    assertEquals(ExitCode.INFEASIBLE, run.code(), run.err());
    JsonNode found = run.json();
    assertEquals("kubernetes", found.path("host").path("container").asText());
    assertEquals("580.95.05", found.path("host").path("kernelModule").asText());
    assertEquals(
        List.of(
            "the cgroup limit /sys/fs/cgroup/hugetlb.2MB.max",
            "the cgroup limit /sys/fs/cgroup/hugetlb.2MB.rsvd.max"),
        texts(found.path("verdict").path("shortfalls"), "name"));
    assertEquals(1024, found.path("verdict").path("shortfalls").get(0).path("missing").asLong());
    List<String> remedies = texts(found.path("remedies"), "text");
    assertTrue(
        remedies.contains("on Kubernetes raise resources.limits.hugepages-2Mi"),
        remedies.toString());
    assertTrue(
        remedies.stream().anyMatch(text -> text.contains("hugepages-2Mi: 6Gi")),
        remedies.toString());
    assertTrue(
        find(found.path("findings"), "about", "seccomp")
            .path("remedy")
            .asText()
            .contains("SYS_NICE"));
  }

  @Test
  @EnabledOnOs(OS.LINUX)
  void a_pod_holds_what_it_was_given() throws IOException {
    Path root = HostTree.write("kubernetes-pod.txt", folder);

    Run run = doctor("--root=" + root, "--bytes-per-rank=4GiB", "--pages=2MB", "--json");

    assertEquals(ExitCode.OK, run.code(), run.out() + run.err());
    JsonNode limits = run.json().path("limits");
    assertEquals(
        805_306_368L, // in use less what the kernel can drop
        find(limits, "name", "/sys/fs/cgroup/memory.max").path("used").asLong());
    assertEquals(65_530, find(limits, "name", "vm.max_map_count").path("most").asLong());
    assertEquals(512, run.json().path("host").path("pools").get(0).path("reserved").asLong());
  }

  @Test
  @EnabledOnOs(OS.LINUX)
  void a_pod_without_1_gib_pages_is_told_so() throws IOException {
    Path root = HostTree.write("kubernetes-pod.txt", folder);

    Run run = doctor("--root=" + root, "--bytes-per-rank=2GiB", "--pages=1GB", "--json");

    assertEquals(ExitCode.INFEASIBLE, run.code(), run.err());
    assertTrue(
        texts(run.json().path("remedies"), "text").contains("hugepagesz=1G hugepages=2"),
        run.out());
  }

  @Test
  void this_host_is_examined_and_measured() {
    Run run = doctor("--backend=cpu-sim", "--json");

    assertEquals(ExitCode.OK, run.code(), run.err());
    JsonNode found = run.json();
    for (String key : List.of("host", "nodes", "limits", "devices", "verdict", "remedies")) {
      assertTrue(found.has(key), key);
    }
    assertTrue(found.path("verdict").path("feasible").isNull());
    assertTrue(found.path("verdict").path("start").path("populateBytesPerSecond").asLong() > 0);
  }

  @Test
  void a_report_for_people_ends_with_what_to_type() {
    Run run =
        doctor(
            "--backend=cpu-sim:laptop", "--bytes-per-rank=256MiB", "--pages=2MB", "--no-measure");

    assertEquals(ExitCode.INFEASIBLE, run.code(), run.err());
    assertTrue(run.out().contains("verdict: 1 rank of 256 MiB"), run.out());
    assertTrue(
        run.out().substring(run.out().indexOf("to change:")).contains("[command] echo "),
        run.out());
    assertTrue(run.out().contains("Linux before 5.14"), run.out());
  }

  @Test
  void two_files_are_compared_by_name_and_what_only_passes_is_left_out() throws IOException {
    JsonNode first = doctor("--backend=cpu-sim:gb200", "--no-measure", "--json").json();
    ObjectNode second = first.deepCopy();
    ((ObjectNode) second.path("nodes").get(1)).put("totalBytes", 7).put("freeBytes", 7);
    ((ObjectNode) second.path("nodes").get(0)).put("cacheBytes", 8);
    ((ObjectNode) second.path("host").path("pools").get(0)).put("free", 9).put("reserved", 1);
    ((ObjectNode) second.path("limits").get(0)).put("used", 10);
    ((ObjectNode) second.path("verdict")).putObject("start").put("seconds", 3);
    Path one = Files.writeString(folder.resolve("one.json"), first.toString());
    Path two = Files.writeString(folder.resolve("two.json"), second.toString());

    Run same = doctor("--compare", one.toString(), one.toString());
    Run other = doctor("--compare", one.toString(), two.toString());

    assertEquals(ExitCode.OK, same.code(), same.out());
    assertEquals(ExitCode.FAILED, other.code(), other.out());
    assertTrue(other.out().startsWith("nodes[node 1].totalBytes: "), other.out());
    assertTrue(other.out().contains(" -> 7\n1 difference\n"), other.out());
  }

  @Test
  void the_same_host_looked_at_twice_is_the_same() throws IOException {
    Path one = Files.writeString(folder.resolve("one.json"), doctor("--json").out());
    Path two = Files.writeString(folder.resolve("two.json"), doctor("--json").out());

    Run run = doctor("--compare", one.toString(), two.toString());

    assertEquals("0 differences\n", run.out(), run.err());
    assertEquals(ExitCode.OK, run.code());
  }

  @Test
  @EnabledOnOs(OS.LINUX)
  void more_than_all_memory_is_called_that_and_no_command_is_given() throws IOException {
    Path root = HostTree.write("kubernetes-pod.txt", folder);

    for (String more : List.of("--pages=2MB", "--pages=base", "--numa=bind:0")) {
      Run run = doctor("--root=" + root, "--ranks=8", "--bytes-per-rank=64GiB", more, "--json");

      assertEquals(ExitCode.INFEASIBLE, run.code(), run.err());
      JsonNode verdict = run.json().path("verdict");
      String first = verdict.path("shortfalls").get(0).path("name").asText();
      assertTrue(first.startsWith("all memory of "), first);
      assertTrue(verdict.path("summary").asText().contains(first), run.out());
      assertEquals(List.of("advice"), texts(run.json().path("remedies"), "kind"), run.out());
      assertEquals(0, run.json().path("reservations").size());
    }
  }

  @Test
  @EnabledOnOs(OS.LINUX)
  void no_start_is_foretold_of_what_cannot_start() {
    Run run = doctor("--backend=cpu-sim", "--ranks=8", "--bytes-per-rank=16TiB");

    assertEquals(ExitCode.INFEASIBLE, run.code(), run.err());
    assertTrue(run.out().contains("all memory of this host ("), run.out());
    assertTrue(run.out().contains("speed here: "), run.out());
    assertFalse(run.out().contains("start in about"), run.out());
    assertFalse(run.out().contains("[command]"), run.out());
  }

  @Test
  void a_folder_without_proc_and_sys_is_no_copy_of_a_host() {
    Run run = doctor("--root=" + folder);

    assertEquals(ExitCode.USAGE, run.code(), run.out());
    assertTrue(run.err().contains("there is no proc/ and sys/ below it"), run.err());
  }

  @Test
  void a_bundle_keeps_the_facts_and_hides_names() {
    ObjectNode tree = Console.json().createObjectNode();
    tree.put("name", "the cgroup limit /sys/fs/cgroup/kubepods.slice/pod-acme-17/hugetlb.2MB.max")
        .put("again", "echo 5 > /sys/fs/cgroup/kubepods.slice/pod-acme-17/hugetlb.2MB.max")
        .put("pool", "echo 5 > /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages")
        .put("library", "tried /home/jane/acme/lib/libcuda.so.1 and /dev/shm")
        .put("uuid", "GPU-12345678-9abc-def0-1234-56789abcdef0")
        .put("peer", "reached gpu-host-3 at 10.11.12.13 as jane")
        .put("free", 7);
    tree.putObject("settings").put("/proc/self/cgroup", "0::/system.slice/acme.service");

    JsonNode shown = Redaction.of(tree, Map.of("gpu-host-3", "<host>", "jane", "<user>"));

    assertFalse(
        shown.toString().matches("(?s).*(acme|jane|gpu-host|10\\.11|12345678).*"), shown::toString);
    assertEquals(
        "the cgroup limit /sys/fs/cgroup/<group-1>/hugetlb.2MB.max", shown.path("name").asText());
    assertEquals("echo 5 > /sys/fs/cgroup/<group-1>/hugetlb.2MB.max", shown.path("again").asText());
    assertEquals(tree.path("pool"), shown.path("pool"));
    assertEquals("tried <path-1> and /dev/shm", shown.path("library").asText());
    assertEquals(7, shown.path("free").asLong());
  }

  @Test
  @EnabledOnOs(OS.LINUX)
  void a_bundle_of_a_whole_host_hides_what_names_its_owner_and_keeps_its_numbers()
      throws IOException {
    Path root = HostTree.write("kubernetes-pod.txt", folder.resolve("home-of-jane"));
    String group = "/kubepods.slice/pod-acme-prod.slice/cri-4f1c.scope";
    Files.writeString(root.resolve("proc/self/cgroup"), "0::" + group + "\n");
    Files.writeString(root.resolve("proc/1/cgroup"), "0::" + group + "\n");
    Files.writeString(
        root.resolve("proc/self/mountinfo"),
        Files.readString(root.resolve("proc/self/mountinfo"))
            + "1300 1200 0:400 / /home/jane/acme rw - tmpfs tmpfs rw,size=65536k\n"
            + "1301 1200 0:401 / /mnt/acme-huge rw - hugetlbfs none rw,pagesize=2M\n");
    Path limits = root.resolve("sys/fs/cgroup" + group);
    Files.createDirectories(limits);
    Files.writeString(limits.resolve("memory.max"), "4294967296\n");
    Files.writeString(limits.resolve("memory.current"), "1048576\n");
    Path file = folder.resolve("bundle.json");

    Run run = doctor("--root=" + root, "--bytes-per-rank=6GiB", "--pages=2MB", "--bundle=" + file);

    assertEquals(ExitCode.INFEASIBLE, run.code(), run.err());
    assertTrue(doctor("--root=" + root, "--json").out().contains("/mnt/acme-huge"));
    String bundle = Files.readString(file);
    for (String secret : List.of("jane", "acme", "4f1c", root.toString())) {
      assertFalse(bundle.contains(secret), () -> secret + " is in " + bundle);
    }
    JsonNode doctor = Console.json().readTree(bundle).path("doctor");
    assertEquals(2, doctor.path("nodes").size());
    assertTrue(bundle.contains("/hugetlb.2MB.max"), bundle);
    assertEquals(
        1024, doctor.path("verdict").path("shortfalls").get(0).path("missing").asLong(), bundle);
  }

  @Test
  void a_bundle_is_written_beside_the_report() throws IOException {
    Path file = folder.resolve("bundle.json");

    Run run = doctor("--backend=cpu-sim:h200", "--no-measure", "--bundle=" + file);

    assertEquals(ExitCode.OK, run.code(), run.err());
    JsonNode bundle = Console.json().readTree(file.toFile());
    assertTrue(bundle.path("doctor").path("nodes").size() == 2, bundle::toString);
    assertTrue(bundle.path("backends").path("backends").size() > 0, bundle::toString);
    String home = System.getProperty("user.home");
    assertFalse(home.length() > 1 && bundle.toString().contains(home + "/"), bundle::toString);
  }
}
