package io.holdfast.backend.cpusim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.Backend;
import io.holdfast.backend.cpusim.host.HostSpec;
import io.holdfast.device.DeviceInfo;
import io.holdfast.host.HostRegion;
import io.holdfast.host.HostRequest;
import io.holdfast.host.NumaPolicy;
import io.holdfast.host.PageKind;
import io.holdfast.host.PlacementReceipt;
import io.holdfast.host.ShortfallException;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.HostKernel.Advice;
import io.holdfast.spi.HostKernel.Mapping;
import io.holdfast.spi.Traits;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Machines by their profiles. */
class ProfileTest {
  private static final long MIB = 1L << 20;
  private static final long GIB = 1L << 30;

  @ParameterizedTest
  @ValueSource(strings = {"h200", "mi350x", "gb200", "wsl2", "laptop"})
  void everyProfileBootsAndMapsAndPins(String name) {
    SimProfile profile = SimProfile.named(name);
    try (SimMachine machine = SimMachine.builder().profile(profile).leaks(LeakPolicy.FAIL).build();
        Backend backend = machine.backend()) {
      assertEquals("cpu-sim:" + name, backend.id());
      assertEquals(profile.devices().size(), backend.devices().size());
      try (HostRegion region = backend.pageSource().map(HostRequest.ofBytes(3 * MIB + 12345))) {
        assertEquals(machine.kernel().basePageBytes(), region.backingPageBytes());
        DevicePort port = machine.driver().open(0);
        MemorySegment pages = MemorySegment.ofAddress(region.segment().address());
        MemorySegment whole = pages.reinterpret(region.mappedBytes());
        assertEquals(0, Answer.of(() -> port.register(whole)));
        port.unregister(whole);
        port.close();
      }
    }
  }

  @Test
  void gb200RefusesARangeThatEndsInsideAHugePage() {
    try (SimMachine machine = SimMachine.of(SimProfile.named("gb200"))) {
      MemorySegment region = machine.kernel().map(GIB, Mapping.anonymous().onHugePages(2 * MIB));
      DevicePort port = machine.driver().open(0);

      assertEquals(1, Answer.of(() -> port.register(region.asSlice(0, GIB - 64 * 1024))));
      assertEquals(0, Answer.of(() -> port.register(region)));
      assertEquals(Traits.PinModel.COHERENT, port.traits(2 * MIB).pinModel());
      assertEquals(64 * 1024, machine.kernel().basePageBytes());
      port.unregister(region);
      machine.kernel().unmap(region);
      port.close();
    }
  }

  @Test
  void gb200sDeviceNodesHaveNoCpusAndAreNotChosen() {
    try (SimMachine machine = SimMachine.of(SimProfile.named("gb200"));
        Backend backend = machine.backend()) {
      DeviceInfo third = backend.devices().get(2);
      assertEquals(OptionalInt.of(1), third.numaNode());
      try (HostRegion region =
          backend
              .pageSource()
              .map(
                  HostRequest.ofBytes(8 * MIB)
                      .pages(PageKind.hugeTlb(2 * MIB))
                      .numa(NumaPolicy.nearest(third)))) {
        assertEquals(Map.of(1, 8 * MIB), region.receipt().bytesPerNode());
      }
      assertEquals(
          List.of("hugepages-2048kB", "hugepages-524288kB"),
          machine.kernel().names("/sys/kernel/mm/hugepages"));
    }
  }

  @Test
  void receiptsSayWhatTheSimulatedKernelDid() {
    try (SimMachine machine = SimMachine.of(SimProfile.named("h200"));
        Backend backend = machine.backend()) {
      try (HostRegion region =
          backend
              .pageSource()
              .map(
                  HostRequest.ofBytes(64 * MIB)
                      .pages(PageKind.hugeTlb(2 * MIB))
                      .numa(NumaPolicy.interleave(0, 1)))) {
        PlacementReceipt receipt = region.receipt();
        assertEquals(Map.of(0, 32 * MIB, 1, 32 * MIB), receipt.bytesPerNode());
        assertEquals(Map.of(2 * MIB, 64 * MIB), receipt.bytesPerPageSize());
      }
      try (HostRegion region =
          backend.pageSource().map(HostRequest.ofBytes(64 * MIB).pages(PageKind.thp()))) {
        assertEquals(
            Map.of(2 * MIB, 64 * MIB), region.receipt().bytesPerPageSize(), "transparent pages");
      }
    }
  }

  @Test
  void theLaptopRunsShortAsTheKernelWould() {
    try (SimMachine machine = SimMachine.of(SimProfile.named("laptop"));
        Backend backend = machine.backend()) {
      long before = machine.host().freeHugePages(2 * MIB);
      ShortfallException refused =
          assertThrows(
              ShortfallException.class,
              () ->
                  backend
                      .pageSource()
                      .map(HostRequest.ofBytes(80 * MIB).pages(PageKind.hugeTlb(2 * MIB))));
      assertTrue(refused.getMessage().contains("hugetlb.2MB.max"), refused.getMessage());
      assertEquals(before, machine.host().freeHugePages(2 * MIB));
      assertThrows(
          ShortfallException.class,
          () -> backend.pageSource().map(HostRequest.ofBytes(5 * GIB)),
          "the container has 4 GiB");
    }
  }

  @Test
  void aProcessCanBeKilledAndAnotherFindsTheHostAsItWas() {
    SimProfile profile = SimProfile.named("h200");
    SimMachine first = SimMachine.of(profile);
    long before = first.host().freeHugePages(GIB);
    Backend backend = first.backend();
    backend.pageSource().map(HostRequest.ofBytes(2 * GIB).pages(PageKind.hugeTlb(GIB)));
    assertEquals(before - 2, first.host().freeHugePages(GIB));

    first.kill();
    assertEquals(before, first.host().freeHugePages(GIB));
    try (SimMachine second = SimMachine.builder().profile(profile, first.host()).build();
        Backend again = second.backend();
        HostRegion region =
            again.pageSource().map(HostRequest.ofBytes(GIB).pages(PageKind.hugeTlb(GIB)))) {
      assertEquals(GIB, region.mappedBytes());
    }
  }

  @Test
  void unmappingUnderARegistrationIsAViolation() {
    try (SimMachine machine =
        SimMachine.builder().profile(SimProfile.named("laptop")).leaks(LeakPolicy.IGNORE).build()) {
      MemorySegment memory = machine.kernel().map(MIB, Mapping.anonymous());
      DevicePort port = machine.driver().open(0);
      port.register(memory);
      machine.kernel().unmap(memory);

      assertEquals(1, machine.violations().size());
      assertTrue(machine.violations().get(0).contains("unmapped under the registration"));
      assertEquals(0, Answer.of(() -> port.unregister(memory)), "the driver heard nothing");
    }
  }

  @Test
  void pinningTouchesAndAStarvedPoolRefuses() {
    try (SimMachine machine =
        SimMachine.builder().profile(SimProfile.named("laptop")).leaks(LeakPolicy.IGNORE).build()) {
      MemorySegment memory =
          machine.kernel().map(40 * 2 * MIB, Mapping.anonymous().onHugePages(2 * MIB));
      DevicePort port = machine.driver().open(0);
      assertEquals(1, Answer.of(() -> port.register(memory)), "the cgroup has 32 pages");
      assertEquals(0, Answer.of(() -> port.register(memory.asSlice(0, 32 * 2 * MIB))));
      machine.kernel().advise(memory.asSlice(0, 2 * MIB), Advice.DO_FORK);
    }
  }

  @Test
  void usersAddProfilesOfTheirOwn(@TempDir Path folder) throws IOException {
    Path file = folder.resolve("tiny.properties");
    Files.writeString(
        file,
        """
        description = a machine of one's own
        driver = hip-6.4
        driver.label = my runtime
        host.release = 6.1
        host.machine = x86_64
        host.base-page = 16KiB
        nodes = 0
        node.0.memory = 1GiB
        node.0.cpus = 0
        node.0.distances = 10
        pool.2MiB.0 = 3
        devices = 1
        device.name = Tiny
        device.memory = 64MiB
        device.link-per-second = 1GiB
        """);
    SimProfile tiny = SimProfile.read(file);
    assertEquals("tiny", tiny.name());
    assertEquals("my runtime", tiny.personality().label());
    assertEquals(3, tiny.host().pools().get(2 * MIB).pagesPerNode().get(0));

    String before = System.getProperty(SimProfile.FOLDER_PROPERTY);
    System.setProperty(SimProfile.FOLDER_PROPERTY, folder.toString());
    try {
      assertTrue(new CpuSimProvider().variants().contains("tiny"));
      try (Backend backend = new CpuSimProvider().open("tiny")) {
        assertEquals("cpu-sim:tiny", backend.id());
        assertEquals(
            16 * 1024,
            backend.pageSource().check(HostRequest.ofBytes(1)).isPresent() ? 0 : 16 * 1024);
      }
    } finally {
      if (before == null) {
        System.clearProperty(SimProfile.FOLDER_PROPERTY);
      } else {
        System.setProperty(SimProfile.FOLDER_PROPERTY, before);
      }
    }
    assertFalse(new CpuSimProvider().variants().contains("tiny"));
  }

  @Test
  void aWrongLineIsNamed() {
    Map<String, String> lines = new TreeMap<>();
    lines.put("description", "x");
    lines.put("driver", "cuda-580");
    assertTrue(message(lines).contains("lacks the line 'nodes'"));
    lines.putAll(
        Map.of(
            "host.release", "6",
            "host.machine", "x86_64",
            "host.base-page", "4KiB",
            "nodes", "0",
            "node.0.memory", "1GiB",
            "node.0.distances", "10",
            "devices", "0"));
    HostSpec host = SimProfile.parse("own", lines).host();
    assertEquals(4096, host.basePageBytes());
    assertTrue(with(lines, "host.base-page", "4kB").contains("host.base-page = 4kB must be bytes"));
    assertTrue(with(lines, "host.base-page", "5000").contains("power of two"));
    assertTrue(with(lines, "node.1.memory", "1GiB").contains("unknown lines [node.1.memory]"));
    assertTrue(with(lines, "node.0.distances", "10 20").contains("one distance to each"));
    assertTrue(with(lines, "pool.2MiB.4", "3").contains("nodes that are there"));
    lines.put("pool.2MiB.0", "1024");
    assertTrue(
        assertThrows(
                IllegalArgumentException.class, () -> SimMachine.of(SimProfile.parse("own", lines)))
            .getMessage()
            .contains("too small for its pool"));
    lines.remove("pool.2MiB.0");
    assertTrue(with(lines, "host.lacks", "colour").contains("must be one of"));
    assertTrue(with(lines, "driver.register.colour", "red").contains("has no line"));
    assertTrue(with(lines, "mount./x", "tmpfs flag=1").contains("a type, then page= and size="));
    assertTrue(with(lines, "cgroup.cpu.max", "1").contains("memory.max"));
  }

  private static String with(Map<String, String> lines, String key, String value) {
    Map<String, String> changed = new TreeMap<>(lines);
    changed.put(key, value);
    return message(changed);
  }

  private static String message(Map<String, String> lines) {
    return String.valueOf(
        assertThrows(IllegalArgumentException.class, () -> SimProfile.parse("own", lines))
            .getMessage());
  }
}
