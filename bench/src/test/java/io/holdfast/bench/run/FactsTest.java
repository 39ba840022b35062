package io.holdfast.bench.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.bench.tool.RefusedException;
import io.holdfast.host.PageKind;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A machine read from a tree that stands in for procfs and sysfs. */
final class FactsTest {
  @TempDir Path root;

  @BeforeEach
  void oneMachine() throws IOException {
    put("proc/sys/kernel/osrelease", "6.8.0-60-generic");
    put(
        "proc/cpuinfo",
        """
        processor\t: 0
        model name\t: Intel(R) Xeon(R) Platinum 8480C
        physical id\t: 0
        flags\t\t: fpu vme hypervisor
        processor\t: 1
        model name\t: Intel(R) Xeon(R) Platinum 8480C
        physical id\t: 1
        flags\t\t: fpu vme hypervisor
        """);
    put("proc/meminfo", "MemTotal:  131072 kB\nMemAvailable:   65536 kB\n");
    put(
        "proc/self/limits",
        "Limit  Soft  Hard  Units\nMax locked memory  8388608  8388608  bytes\n");
    put("sys/fs/cgroup/memory.max", "50331648");
    put("sys/fs/cgroup/memory.current", "10485760");
    put("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never");
    put("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "10");
    put("sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "4");
    put("sys/devices/system/node/node0/cpulist", "0");
    put("sys/devices/system/node/node1/cpulist", "1");
    put("sys/devices/system/node/node10/cpulist", "2");
    put(
        "proc/driver/nvidia/version",
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release\n");
    put("sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de");
    put("sys/bus/pci/devices/0000:01:00.0/class", "0x030200");
    put("sys/bus/pci/devices/0000:01:00.0/numa_node", "-1");
    put("sys/bus/pci/devices/0000:01:00.0/current_link_speed", "32.0 GT/s PCIe");
    put("sys/bus/pci/devices/0000:01:00.0/current_link_width", "16");
    put("sys/bus/pci/devices/0000:01:00.0/max_link_speed", "Unknown");
    put("sys/bus/pci/devices/0000:01:00.0/max_link_width", "16");
    put("sys/bus/pci/devices/0000:02:00.0/vendor", "0x8086");
    put("sys/bus/pci/devices/0000:02:00.0/class", "0x030000");
  }

  private void put(String file, String content) throws IOException {
    Path path = root.resolve(file);
    Files.createDirectories(path.getParent());
    Files.writeString(path, content);
  }

  @Test
  void the_processor_the_nodes_and_the_memory_are_the_kernels_words() {
    JsonNode facts = new Facts(root).read();

    assertEquals("6.8.0-60-generic", facts.path("kernel").asText());
    assertEquals("Intel(R) Xeon(R) Platinum 8480C", facts.path("cpu").path("model").asText());
    assertEquals(2, facts.path("cpu").path("threads").asInt());
    assertEquals(2, facts.path("cpu").path("sockets").asInt());
    assertTrue(facts.path("cpu").path("virtual").asBoolean());
    assertEquals(List.of("0", "1", "10"), facts.path("nodes").findValuesAsText("node"));
    assertEquals(131072L << 10, facts.path("memory").path("totalBytes").asLong());
    assertEquals("8388608", facts.path("memory").path("lockLimit").asText());
    assertEquals("madvise", facts.path("thp").path("enabled").asText());
    assertEquals("580.159.04", facts.path("drivers").path("nvidia").asText());
  }

  @Test
  void a_link_is_worth_what_its_encoding_leaves_and_what_is_unknown_is_left_out() {
    JsonNode accelerators = new Facts(root).read().path("accelerators");

    assertEquals(1, accelerators.size());
    JsonNode link = accelerators.path(0).path("currentLink");
    assertEquals(5, link.path("generation").asInt());
    assertEquals(16, link.path("width").asInt());
    assertEquals(63.015, link.path("gigabytesPerSecond").asDouble(), 0.001);
    assertFalse(accelerators.path(0).has("maxLink"));
    assertEquals(0.25, Facts.gigabytesPerLane(2.5));
    assertEquals(0.984615, Facts.gigabytesPerLane(8), 1e-6);
    assertEquals(7.5625, Facts.gigabytesPerLane(64));
  }

  @Test
  void an_empty_tree_is_no_machine_and_no_error() {
    JsonNode facts = new Facts(root.resolve("nothing")).read();

    assertTrue(facts.path("nodes").isEmpty());
    assertTrue(facts.path("accelerators").isEmpty());
    assertFalse(facts.path("memory").has("totalBytes"));
    assertTrue(new Facts(root.resolve("nothing")).availableBytes().isEmpty());
  }

  @Test
  void the_control_group_bounds_what_is_available() {
    assertEquals(50331648 - 10485760, new Facts(root).availableBytes().orElseThrow());
  }

  @Test
  void a_pool_that_is_too_small_is_refused_with_the_command_that_raises_it() {
    PoolCheck check = new PoolCheck(new Facts(root));
    List<PageKind> huge = List.of(PageKind.hugeTlb(2L << 20));

    check.require(huge, 8L << 20); // 4 pages, 4 are free
    String why =
        assertThrows(RefusedException.class, () -> check.require(huge, 9L << 20)).getMessage();

    assertTrue(why.startsWith("5 free pages of 2 MiB are needed and 4 are there: echo 11 | "), why);
    assertTrue(why.contains("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"), why);
    String none =
        assertThrows(
                RefusedException.class,
                () -> check.require(List.of(PageKind.hugeTlb(1L << 30)), 1L << 30))
            .getMessage();
    assertTrue(none.contains("no pool of 1 GiB pages"), none);
  }

  @Test
  void memory_that_is_not_there_is_refused_before_anything_runs() {
    PoolCheck check = new PoolCheck(new Facts(root));

    check.require(List.of(PageKind.base()), 30L << 20);
    assertThrows(RefusedException.class, () -> check.require(List.of(PageKind.base()), 31L << 20));
    check.require(List.of(PageKind.hugeTlb(2L << 20)), 8L << 20); // its pages are set aside already
  }
}
