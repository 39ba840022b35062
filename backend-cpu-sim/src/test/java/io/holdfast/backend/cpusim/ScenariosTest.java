package io.holdfast.backend.cpusim;

import static io.holdfast.device.Order.after;
import static io.holdfast.device.Order.unordered;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.Backend;
import io.holdfast.Device;
import io.holdfast.backend.cpusim.SimEngine.CaptureMode;
import io.holdfast.backend.cpusim.driver.FaultScript;
import io.holdfast.backend.cpusim.driver.Operation;
import io.holdfast.copy.BlockCopies;
import io.holdfast.device.Demand;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.device.ExportedRegion;
import io.holdfast.device.ExtensibleRegion;
import io.holdfast.device.ExtensibleRequest;
import io.holdfast.device.HandleKind;
import io.holdfast.device.ImportedRegion;
import io.holdfast.device.RegionDescriptor;
import io.holdfast.host.HostRegion;
import io.holdfast.host.HostRequest;
import io.holdfast.host.PageKind;
import io.holdfast.layout.BlockShape;
import io.holdfast.pin.PinException;
import io.holdfast.pin.PinRequest;
import io.holdfast.pin.PinnedRegion;
import io.holdfast.pool.HostPool;
import io.holdfast.pool.PoolOptions;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.DeviceRange;
import io.holdfast.spi.PhysicalHandle;
import io.holdfast.spi.VirtualMemoryPort;
import io.holdfast.spi.VirtualMemoryPort.PhysicalForm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** Faults of the field as named scenarios. They stand in docs/simulator.md word for word. */
class ScenariosTest {
  private static final int MOST_LINES = 20;
  private static final Path DOCUMENT = Path.of("..", "docs", "simulator.md");
  private static final Path SOURCE =
      Path.of("src/test/java/io/holdfast/backend/cpusim/ScenariosTest.java");

  private static final long KIB = 1L << 10;
  private static final long MIB = 1L << 20;
  private static final long GIB = 1L << 30;
  private static final BlockShape SHAPE = BlockShape.of(2, 16 * KIB);

  // scenario: the GB200 fault
  @Test
  void gb200RefusesARegistrationThatEndsInsideAHugePage() {
    HostRequest request = HostRequest.ofBytes(GIB - 64 * KIB).pages(PageKind.hugeTlb(2 * MIB));
    try (SimMachine machine = SimMachine.of(SimProfile.named("gb200"));
        Backend backend = machine.backend();
        Device device = backend.open(0);
        HostRegion region = backend.pageSource().map(request)) {
      DevicePort port = machine.driver().open(0);
      assertEquals(1, Answer.of(() -> port.register(region.segment())));
      port.close();
      PinnedRegion pinned = device.pinner().pin(region, PinRequest.strict());
      assertEquals(GIB, pinned.registeredBytes()); // whole backing pages
    }
  }

  // scenario: the 512 GiB cap
  @Test
  void oneRegistrationOfHalfATebibyteIsRefusedAndTwoAreNot() {
    HostRequest request = HostRequest.ofBytes(512 * GIB).pages(PageKind.hugeTlb(GIB));
    try (SimMachine machine = SimMachine.of(SimProfile.named("h200"));
        Backend backend = machine.backend();
        Device device = backend.open(0);
        HostRegion region = backend.pageSource().map(request)) {
      DevicePort port = machine.driver().open(0);
      assertEquals(2, Answer.of(() -> port.register(region.segment())));
      assertTrue(port.traits(GIB).bounds().getFirst().maxBytes() < 512 * GIB);
      port.close();
      PinnedRegion pinned = device.pinner().pin(region, PinRequest.strict());
      assertEquals(512 * GIB, pinned.registeredBytes());
    }
  }

  // scenario: the leaked chunk
  @Test
  void aRefusedSliceLeavesNoneOfThoseBeforeIt() {
    try (SimMachine machine = SimMachine.of(SimProfile.named("laptop"));
        Backend backend = machine.backend();
        Device device = backend.open(0);
        HostRegion region = backend.pageSource().map(HostRequest.ofBytes(8 * MIB))) {
      machine.faults().add(FaultScript.parse("host-register 5 fail 1"));
      PinRequest slices = PinRequest.strict().sliceBytes(MIB);

      assertThrows(PinException.class, () -> device.pinner().pin(region, slices));

      assertEquals(5, machine.ledger().count(Operation.HOST_REGISTER));
      assertEquals(4, machine.ledger().count(Operation.HOST_UNREGISTER));
      assertEquals(0, machine.audit().registrations());
    }
  }

  // scenario: the crossing copy
  @Test
  void aCopyAcrossTwoRegistrationsIsRefusedAndARouteSplitsIt() {
    try (SimMachine machine = SimMachine.of(SimProfile.named("h200"));
        Backend backend = machine.backend();
        Device device = backend.open(0);
        SimEngine engine = machine.engineOnSharedContext(0)) {
      DeviceBlocks blocks =
          DeviceBlocks.of(device.memory().allocate(MIB).segment(), SHAPE.layerMajor(32));
      PoolOptions cut = PoolOptions.defaults().pin(PinRequest.strict().capBytes(40 * KIB));
      HostPool pool = HostPool.open(device, blocks, HostRequest.ofBytes(MIB), cut);
      long start = pool.region().segment().address();
      long stream = engine.newStream();
      long to = blocks.plane(0).memory().rawAddress();
      engine.makeCurrent();
      assertEquals(1, machine.calls().memcpyHtoDAsync(to, start, 128 * KIB, stream));
      BlockCopies four = BlockCopies.device(0, 1, 2, 3).host(0, 1, 2, 3);
      pool.store(four, unordered()).await();
      pool.load(four, unordered()).await();
    }
  }

  // scenario: the multi-handle export
  @Test
  void memoryThatGrewIsSharedAsOneHandleForEachSegment() {
    try (SimMachine machine = SimMachine.of(SimProfile.named("h200"));
        Backend backend = machine.backend();
        Device device = backend.open(0)) {
      ExtensibleRegion region =
          device
              .memory()
              .reserve(ExtensibleRequest.of(SHAPE.layerMajor(1000)).shareable(Demand.REQUIRE));
      region.commit(1);
      region.commit(200); // a second handle under each plane
      assertEquals(4, machine.audit().physicalHandles());
      region.seal(200, after(device.newStream()));
      assertEquals(2, machine.audit().physicalHandles());
      try (ExportedRegion export = region.export(HandleKind.POSIX_FD)) {
        assertEquals(2, machine.audit().descriptors());
        RegionDescriptor sent = RegionDescriptor.parse(export.descriptor().text());
        ImportedRegion there = device.memory().importRegion(sent);
        assertEquals(200 * 16 * KIB, there.segment(1).byteSize());
      }
    }
  }

  // scenario: the SetAccess race
  @Test
  void hip71RefusesAccessToTheNewestMappingAndARegionGrowsAllTheSame() {
    try (SimMachine machine = SimMachine.builder().personality("hip-7.1").build();
        Backend backend = machine.backend();
        Device device = backend.open(0)) {
      ExtensibleRegion region =
          device.memory().reserve(ExtensibleRequest.of(SHAPE.layerMajor(1000)));
      for (long blocks = 100; blocks <= 1000; blocks += 100) {
        region.commit(blocks); // access is set over the whole prefix
      }
      VirtualMemoryPort vmm = machine.driver().open(0).virtualMemory().orElseThrow();
      DeviceRange range = vmm.reserve(64 * MIB, 0);
      PhysicalHandle memory = vmm.create(2 * MIB, PhysicalForm.plain());
      int refused = 0;
      for (long at = range.address(); at < range.endAddress(); at += 2 * MIB) {
        DeviceRange newest = new DeviceRange(at, 2 * MIB);
        vmm.map(newest, memory);
        refused += Answer.of(() -> vmm.allowAccess(newest));
      }
      assertTrue(refused > 0 && refused < 32, "of 32: " + refused);
    }
  }

  // scenario: the broken graph capture
  @Test
  void aBystandersQueryBreaksACaptureAndAPoolDoesNot() {
    try (SimMachine machine = SimMachine.of(SimProfile.named("h200"));
        Backend backend = machine.backend();
        Device device = backend.open(0);
        SimEngine engine = machine.engine(0)) {
      DeviceBlocks blocks =
          DeviceBlocks.of(device.memory().allocate(MIB).segment(), SHAPE.layerMajor(32));
      long captured = engine.newStream();
      engine.beginCapture(captured, CaptureMode.GLOBAL);
      assertEquals(900, engine.queryStream(engine.newStream()));
      assertEquals(901, engine.endCaptureCode(captured));

      engine.beginCapture(captured, CaptureMode.GLOBAL);
      try (HostPool pool = HostPool.open(device, blocks, HostRequest.ofBytes(MIB))) {
        pool.store(BlockCopies.device(0).host(0), unordered()).await();
      }
      assertEquals(0, engine.endCaptureCode(captured));
    }
  }

  // end of scenarios

  /** The document says what is run here, and nothing of it is long. */
  @Test
  void theDocumentHasEveryScenarioAsItIsRun() throws IOException {
    String source = Files.readString(SOURCE);
    String document = Files.readString(DOCUMENT);
    Matcher scenario =
        Pattern.compile(
                "  // scenario: ([^\n]*)\n  @Test\n(.*?)\n\n(?=  // (?:scenario:|end of))",
                Pattern.DOTALL)
            .matcher(source);
    List<String> found = new ArrayList<>();
    while (scenario.find()) {
      String code = scenario.group(2).stripIndent();
      long lines = code.lines().count() - 2; // without the method's own first and last line
      assertTrue(lines <= MOST_LINES, scenario.group(1) + " has " + lines + " lines");
      String wanted = "```java\n" + code + "\n```";
      assertTrue(document.contains(wanted), "docs/simulator.md needs this:\n" + wanted);
      found.add(scenario.group(1));
    }
    assertEquals(
        List.of(
            "the GB200 fault",
            "the 512 GiB cap",
            "the leaked chunk",
            "the crossing copy",
            "the multi-handle export",
            "the SetAccess race",
            "the broken graph capture"),
        found);
  }
}
