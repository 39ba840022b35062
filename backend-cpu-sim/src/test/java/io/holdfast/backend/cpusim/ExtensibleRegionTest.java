package io.holdfast.backend.cpusim;

import static io.holdfast.device.Order.after;
import static io.holdfast.device.Order.asIfOn;
import static io.holdfast.device.Order.unordered;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.Backend;
import io.holdfast.Device;
import io.holdfast.backend.cpusim.driver.Blocker;
import io.holdfast.backend.cpusim.driver.FaultScript;
import io.holdfast.backend.cpusim.driver.Ledger;
import io.holdfast.backend.cpusim.driver.Operation;
import io.holdfast.backend.cpusim.driver.Personalities;
import io.holdfast.backend.cpusim.driver.Personality;
import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.Completion;
import io.holdfast.copy.CopyRoute;
import io.holdfast.device.Demand;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.device.DeviceStream;
import io.holdfast.device.DmaBufExport;
import io.holdfast.device.ExportedRegion;
import io.holdfast.device.ExtensibleRegion;
import io.holdfast.device.ExtensibleRegion.Contents;
import io.holdfast.device.ExtensibleRegion.State;
import io.holdfast.device.ExtensibleRequest;
import io.holdfast.device.HandleKind;
import io.holdfast.device.ImportedRegion;
import io.holdfast.device.RegionDescriptor;
import io.holdfast.device.StaleException;
import io.holdfast.device.Support;
import io.holdfast.error.HoldfastException;
import io.holdfast.error.UnsupportedException;
import io.holdfast.host.HostRequest;
import io.holdfast.layout.BlockLayout;
import io.holdfast.layout.BlockShape;
import io.holdfast.pin.PinPacing;
import io.holdfast.pin.PinRequest;
import io.holdfast.pool.HostPool;
import io.holdfast.pool.PoolOptions;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Extensible regions from end to end, over every simulated driver that has virtual memory. */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class ExtensibleRegionTest {
  private static final long MIB = 1L << 20;
  private static final int PART = 16 << 10;
  private static final BlockShape SHAPE = BlockShape.of(2, PART);
  private static final BlockLayout LAYERS = SHAPE.layerMajor(1000); // 128 blocks in a granule
  private static final PoolOptions FINE =
      PoolOptions.defaults().pin(PinRequest.strict().sliceBytes(MIB).pacing(PinPacing.flatOut()));

  /** A machine of which nothing may be left. */
  private static final class Rig implements AutoCloseable {
    final SimMachine machine;
    final Backend backend;
    final Device device;
    final SimEngine engine;

    Rig(String personality) {
      this(Personalities.named(personality));
    }

    Rig(Personality personality) {
      machine = SimMachine.builder().personality(personality).leaks(LeakPolicy.FAIL).build();
      backend = machine.backend();
      device = backend.open(0);
      engine = machine.engineOnSharedContext(0);
    }

    /** As through a socket. */
    List<Integer> receive(Rig from, RegionDescriptor sent) {
      return sent.shares().stream()
          .map(
              share ->
                  machine.calls().receiveDescriptor(from.machine.calls(), share.fileDescriptor()))
          .toList();
    }

    ExtensibleRegion reserve(ExtensibleRequest request) {
      return device.memory().reserve(request);
    }

    long free() {
      return device.memory().info().freeBytes();
    }

    /** Every block and part gets bytes of its own. */
    void write(DeviceBlocks blocks, long from, long to) {
      for (int part = 0; part < 2; part++) {
        for (long block = from; block < to; block++) {
          engine.write(address(blocks, part, block), bytes(part, block));
        }
      }
    }

    void assertWritten(DeviceBlocks blocks, long from, long to) {
      for (int part = 0; part < 2; part++) {
        for (long block = from; block < to; block++) {
          assertArrayEquals(
              bytes(part, block),
              engine.read(address(blocks, part, block), PART),
              "part " + part + " of block " + block);
        }
      }
    }

    void assertZero(DeviceBlocks blocks, long from, long to) {
      for (int part = 0; part < 2; part++) {
        for (long block = from; block < to; block++) {
          assertArrayEquals(
              new byte[PART],
              engine.read(address(blocks, part, block), PART),
              "part " + part + " of block " + block);
        }
      }
    }

    private static long address(DeviceBlocks blocks, int part, long block) {
      return blocks.plane(part).memory().rawAddress() + block * blocks.plane(part).strideBytes();
    }

    private static byte[] bytes(int part, long block) {
      byte[] bytes = new byte[PART];
      Arrays.fill(bytes, (byte) (1 + (block * 7 + part * 31) % 250));
      return bytes;
    }

    @Override
    public void close() {
      engine.close();
      backend.close();
      machine.close();
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"cuda-550", "cuda-580", "cuda-615", "hip-7.0", "hip-7.1", "hip-7.2", "hip-7.15"})
  void growsConsolidatesSleepsAndWakesWhereItWas(String personality) {
    try (Rig rig = new Rig(personality)) {
      assertEquals(new Support.Supported(), rig.device.memory().extensibleSupport());
      long free = rig.free();
      ExtensibleRegion region = rig.reserve(ExtensibleRequest.of(LAYERS));
      DeviceStream stream = rig.device.newStream();
      region.commit(1);
      region.commit(130);
      long address = region.plane(1).memory().rawAddress();
      rig.write(region, 0, 130);
      region.commit(300);
      rig.assertWritten(region, 0, 130);
      rig.assertZero(region, 130, 300);
      assertEquals(12 * MIB, free - rig.free());

      region.consolidate(Contents.KEEP, after(stream));
      assertEquals(List.of(1, 1), region.census().handlesPerSegment());
      rig.assertWritten(region, 0, 130);
      assertEquals(12 * MIB, free - rig.free());

      region.shrink(100, after(stream));
      rig.assertZero(region, 0, 100);
      assertEquals(4 * MIB, free - rig.free());

      region.releasePhysical(after(stream));
      assertEquals(free, rig.free());
      region.recommit();
      rig.assertZero(region, 0, 100);

      assertEquals(address, region.plane(1).memory().rawAddress());
      region.close();
      assertEquals(free, rig.free());
    }
  }

  /** A driver that never returns memory shows it; the region itself leaves nothing. */
  @ParameterizedTest
  @CsvSource({"hip-5.2", "hip-5.7"})
  void oldDriversSayWhyAndAnOrdinaryAllocationStandsIn(String personality) {
    try (Rig rig = new Rig(personality)) {
      Support.Unsupported no =
          assertInstanceOf(Support.Unsupported.class, rig.device.memory().extensibleSupport());
      assertFalse(no.reason().isEmpty());
      assertThrows(HoldfastException.class, () -> rig.reserve(ExtensibleRequest.of(LAYERS)));

      ExtensibleRegion region =
          rig.reserve(ExtensibleRequest.of(LAYERS).virtualMemory(Demand.PREFER));

      region.commit(3);
      rig.write(region, 0, 3);
      region.commit(1000);
      rig.assertWritten(region, 0, 3);
      rig.assertZero(region, 3, 5);
      assertTrue(region.census().notes().getFirst().contains(no.reason()));
    }
  }

  @Test
  void wsl2HasNoneAndSaysSo() {
    try (SimMachine machine = SimMachine.of(SimProfile.named("wsl2"));
        Backend backend = machine.backend()) {
      Support.Unsupported no =
          assertInstanceOf(Support.Unsupported.class, backend.open(0).memory().extensibleSupport());

      assertTrue(no.remedy().contains("WSL2"), no.remedy());
    }
  }

  // ---- copies

  /** A pool opened on a region before its first block serves it over commit, sleep and wake. */
  @ParameterizedTest
  @ValueSource(strings = {"cuda-580", "hip-7.2"})
  void aPoolOpenedBeforeTheFirstCommitBringsOffloadedBlocksBackAfterASleep(String personality) {
    try (Rig rig = new Rig(personality)) {
      ExtensibleRegion region = rig.reserve(ExtensibleRequest.of(LAYERS));
      HostPool pool = HostPool.open(rig.device, region, HostRequest.ofBytes(8 * MIB), FINE);
      DeviceStream engine = rig.device.newStream();
      assertThrows(
          IndexOutOfBoundsException.class,
          () -> pool.store(BlockCopies.device(0).host(0), after(engine)));
      region.commit(1);
      pool.store(BlockCopies.device(0).host(0), after(engine)).await();
      region.commit(200);
      rig.write(region, 0, 200);
      BlockCopies keep = BlockCopies.withCapacity(200);
      for (int block = 0; block < 200; block++) {
        keep.add(block, (block * 77 + 3) % 256);
      }

      Completion stored = pool.store(keep, after(engine));
      region.releasePhysical(after(engine).and(stored));
      assertThrows(
          IndexOutOfBoundsException.class,
          () -> pool.load(BlockCopies.device(0).host(0), asIfOn(engine)));
      region.recommit();
      rig.assertZero(region, 0, 1);
      pool.load(keep, asIfOn(engine)).await();

      rig.assertWritten(region, 0, 200);
    }
  }

  @Test
  void aSleepWaitsForCopiesInFlightAndRefusesThoseThatCome() throws InterruptedException {
    try (Rig rig = new Rig("cuda-580")) {
      ExtensibleRegion region = rig.reserve(ExtensibleRequest.of(LAYERS));
      region.commit(10);
      rig.write(region, 0, 10);
      HostPool pool = HostPool.open(rig.device, region, HostRequest.ofBytes(8 * MIB), FINE);
      long raw = rig.engine.newStream();
      DeviceStream engine = rig.device.wrapStream(raw);
      DeviceStream idle = rig.device.newStream();
      Thread sleeping;
      try (Blocker blocker = rig.engine.block(raw)) {
        Completion stored = pool.store(BlockCopies.device(3).host(5), after(engine));
        sleeping = Thread.ofPlatform().start(() -> region.releasePhysical(after(idle)));
        while (sleeping.getState() != Thread.State.TIMED_WAITING) {
          assertTrue(sleeping.isAlive(), "it did not wait for the copy");
          Thread.onSpinWait();
        }
        assertFalse(stored.isDone());
        assertEquals(2, rig.machine.audit().mappings());
        assertThrows(
            HoldfastException.class, () -> pool.store(BlockCopies.device(4).host(6), unordered()));
        blocker.release();
      }
      sleeping.join();
      assertEquals(State.RELEASED, region.state());
      region.recommit();

      pool.load(BlockCopies.device(9).host(5), asIfOn(idle)).await();

      assertArrayEquals(Rig.bytes(0, 3), rig.engine.read(Rig.address(region, 0, 9), PART));
      rig.engine.destroyStream(raw);
    }
  }

  @Test
  void aRouteOnAFixedViewIsStaleAfterAnExchangeAndALiveOneIsNot() {
    try (Rig rig = new Rig("cuda-580")) {
      ExtensibleRegion region = rig.reserve(ExtensibleRequest.of(LAYERS));
      region.commit(10);
      HostPool pool = HostPool.open(rig.device, region, HostRequest.ofBytes(8 * MIB), FINE);
      CopyRoute fixed = rig.device.copyEngine().route(region.first(10), pool);
      DeviceStream engine = rig.device.newStream();
      fixed.store(BlockCopies.device(9).host(0), after(engine)).await();
      region.commit(20);
      fixed.store(BlockCopies.device(9).host(0), after(engine)).await();
      region.releasePhysical(after(engine));
      region.recommit();

      StaleException stale =
          assertThrows(
              StaleException.class,
              () -> fixed.store(BlockCopies.device(9).host(0), after(engine)));

      assertEquals(0, stale.seenEpoch());
      assertEquals(1, stale.epoch());
      pool.store(BlockCopies.device(19).host(0), after(engine)).await();
    }
  }

  @Test
  void closingARegionClosesThePoolOnIt() {
    try (Rig rig = new Rig("cuda-580")) {
      ExtensibleRegion region = rig.reserve(ExtensibleRequest.of(LAYERS));
      region.commit(10);
      HostPool pool = HostPool.open(rig.device, region, HostRequest.ofBytes(8 * MIB), FINE);

      region.close();

      assertThrows(
          IllegalStateException.class,
          () -> pool.store(BlockCopies.device(0).host(0), unordered()));
    }
  }

  // ---- sharing

  @ParameterizedTest
  @ValueSource(strings = {"cuda-580", "hip-7.0", "hip-7.15"})
  void exportsAreReadByAnImporterAndLeaveNoDescriptor(String personality) {
    try (Rig rig = new Rig(personality)) {
      ExtensibleRegion region = rig.reserve(ExtensibleRequest.of(LAYERS).shareable(Demand.REQUIRE));
      DeviceStream stream = rig.device.newStream();
      region.commit(1);
      region.seal(200, after(stream));
      rig.write(region, 0, 1);
      try (ExportedRegion export = region.export(HandleKind.POSIX_FD);
          ImportedRegion there =
              rig.device
                  .memory()
                  .importRegion(RegionDescriptor.parse(export.descriptor().text()))) {
        assertArrayEquals(Rig.bytes(1, 0), rig.engine.read(there.segment(1).rawAddress(), PART));
        assertEquals(200L * PART, there.segment(1).byteSize());
      }
      assertEquals(0, rig.machine.audit().descriptors());
    }
  }

  /** Two processes of one host: the descriptors come through a socket, the text by any way. */
  @ParameterizedTest
  @ValueSource(strings = {"cuda-580", "hip-7.15"})
  void whatAnotherMachineImportsAreTheSameBytes(String personality) {
    try (Rig exporter = new Rig(personality);
        Rig importer = new Rig(personality)) {
      ExtensibleRegion region =
          exporter.reserve(ExtensibleRequest.of(LAYERS).shareable(Demand.REQUIRE));
      DeviceStream stream = exporter.device.newStream();
      region.commit(1);
      region.seal(200, after(stream));
      exporter.write(region, 0, 1);
      byte[] answer = new byte[PART];
      Arrays.fill(answer, (byte) 0x77);
      try (ExportedRegion export = region.export(HandleKind.POSIX_FD)) {
        RegionDescriptor sent = RegionDescriptor.parse(export.descriptor().text());
        List<Integer> received = importer.receive(exporter, sent);
        try (ImportedRegion there =
            importer.device.memory().importRegion(sent.received(received))) {
          received.forEach(importer.machine.calls()::closeDescriptor);
          long plane = there.segment(1).rawAddress();
          assertArrayEquals(Rig.bytes(1, 0), importer.engine.read(plane, PART));
          importer.engine.write(plane, answer);
        }
      }
      assertArrayEquals(answer, exporter.engine.read(region.plane(1).memory().rawAddress(), PART));
      assertEquals(0, importer.machine.audit().descriptors());
      assertEquals(0, importer.machine.audit().physicalHandles());
      assertEquals(0, exporter.machine.audit().descriptors());
    }
  }

  /** Exporter and importer find different kinds working: what the descriptor says is used. */
  @Test
  void b93_theDescriptorDecidesHowMemoryIsImportedAndNotWhatTheImporterCouldDo() {
    Personality fabricWorks = Personalities.named("cuda-580", Map.of("vmm.fabric-code", "0"));
    try (Rig exporter = new Rig("cuda-580");
        Rig importer = new Rig(fabricWorks);
        Rig without = new Rig("hip-7.15")) {
      ExtensibleRegion region =
          exporter.reserve(ExtensibleRequest.of(LAYERS).shareable(Demand.REQUIRE));
      region.commit(1);
      region.seal(200, after(exporter.device.newStream()));
      exporter.write(region, 0, 1);
      try (ExportedRegion export = region.export(HandleKind.POSIX_FD)) {
        RegionDescriptor sent = export.descriptor();
        List<Integer> received = importer.receive(exporter, sent);
        try (ImportedRegion there =
            importer.device.memory().importRegion(sent.received(received))) {
          received.forEach(importer.machine.calls()::closeDescriptor);
          assertArrayEquals(
              Rig.bytes(1, 0), importer.engine.read(there.segment(1).rawAddress(), PART));
        }
        List<Ledger.Call> imports = importer.machine.ledger().of(Operation.VMM_IMPORT);
        assertEquals(2, imports.size());
        assertTrue(imports.stream().allMatch(call -> call.second() == 1), "by file descriptor");
        RegionDescriptor byFabric =
            RegionDescriptor.ofThisProcess(
                HandleKind.FABRIC,
                "",
                sent.epoch(),
                1,
                List.of(RegionDescriptor.Share.ofFabric(2 * MIB, PART, PART, new byte[64])));
        assertThrows(
            UnsupportedException.class, () -> without.device.memory().importRegion(byFabric));
      }
    }
  }

  @Test
  void importedMemoryOutlivesTheMachineThatMadeIt() {
    try (Rig importer = new Rig("cuda-580")) {
      ImportedRegion there;
      try (Rig exporter = new Rig("cuda-580")) {
        ExtensibleRegion region =
            exporter.reserve(ExtensibleRequest.of(LAYERS).shareable(Demand.REQUIRE));
        region.commit(1);
        region.seal(200, after(exporter.device.newStream()));
        exporter.write(region, 0, 1);
        try (ExportedRegion export = region.export(HandleKind.POSIX_FD)) {
          RegionDescriptor sent = export.descriptor();
          List<Integer> received = importer.receive(exporter, sent);
          there = importer.device.memory().importRegion(sent.received(received));
          received.forEach(importer.machine.calls()::closeDescriptor);
        }
      }
      assertArrayEquals(Rig.bytes(1, 0), importer.engine.read(there.segment(1).rawAddress(), PART));
      there.close();
    }
  }

  @Test
  void aNumberThatIsNoDescriptorThereIsNoneHere() {
    try (Rig one = new Rig("cuda-580");
        Rig other = new Rig("cuda-580")) {
      assertEquals(-1, one.machine.calls().receiveDescriptor(other.machine.calls(), 1 << 30));
    }
  }

  @Test
  void aDmaBufOfASegmentIsCountedAndClosed() {
    try (Rig rig = new Rig("cuda-580")) {
      ExtensibleRegion region = rig.reserve(ExtensibleRequest.of(LAYERS).rdma(Demand.REQUIRE));
      DeviceStream stream = rig.device.newStream();
      region.seal(200, after(stream));
      assertEquals(new Support.Supported(), region.census().rdmaCapable());

      try (DmaBufExport export = region.exportDmaBuf(region.plane(0).memory())) {
        assertEquals(200L * PART, export.bytes());
        assertEquals(1, rig.machine.audit().descriptors());
      }
      assertEquals(0, rig.machine.audit().descriptors());
    }
  }

  // ---- refusals of the driver

  /** What a user does with a region. */
  enum Scenario {
    GROW,
    SEAL,
    CONSOLIDATE,
    SLEEP,
    EXPORT;

    void run(ExtensibleRegion region, DeviceStream stream) {
      switch (this) {
        case GROW -> region.commit(300);
        case SEAL -> region.seal(300, after(stream));
        case CONSOLIDATE -> region.consolidate(Contents.KEEP, after(stream));
        case SLEEP -> {
          region.releasePhysical(after(stream));
          region.recommit();
        }
        case EXPORT -> {
          region.seal(130, after(stream));
          region.export(HandleKind.POSIX_FD).close();
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void theKthDriverCallFailsAndNothingIsLeft(Scenario scenario) {
    List<Operation> operations =
        List.of(
            Operation.VMM_RESERVE,
            Operation.VMM_ADDRESS_FREE,
            Operation.VMM_CREATE,
            Operation.VMM_RELEASE,
            Operation.VMM_MAP,
            Operation.VMM_UNMAP,
            Operation.VMM_SET_ACCESS,
            Operation.VMM_EXPORT);
    for (String personality : List.of("cuda-580", "hip-7.15")) {
      for (Operation operation : operations) {
        for (int call = 1; call <= 5; call++) {
          String where = scenario + " on " + personality + ", call " + call + " of " + operation;
          try (Rig rig = new Rig(personality)) {
            ExtensibleRegion region =
                rig.reserve(ExtensibleRequest.of(LAYERS).shareable(Demand.REQUIRE));
            DeviceStream stream = rig.device.newStream();
            region.commit(1);
            region.commit(130);
            rig.write(region, 0, 1);
            rig.machine.faults().add(FaultScript.failCall(operation, call, 2));
            try {
              scenario.run(region, stream);
            } catch (HoldfastException refused) {
              assertTrue(region.count() == 130 || scenario == Scenario.SLEEP, where);
            }
            rig.machine.faults().clear();
            if (region.epoch() == 0 || scenario != Scenario.SLEEP) {
              rig.assertWritten(region, 0, 1);
            }
          }
        }
      }
    }
  }

  /**
   * The k-th driver call of any kind is refused, from the first to the last of each change: told,
   * no handle, mapping or reservation left at the end (the rig fails on any), committed blocks
   * intact.
   */
  @ParameterizedTest
  @EnumSource
  void theKthCallAtAllFailsAndNothingIsLeft(Scenario scenario) {
    int call = 1;
    for (boolean struck = true; struck; call++) {
      String where = scenario + ", call " + call;
      try (Rig rig = new Rig("cuda-580")) {
        ExtensibleRegion region =
            rig.reserve(ExtensibleRequest.of(LAYERS).shareable(Demand.REQUIRE));
        DeviceStream stream = rig.device.newStream();
        region.commit(1);
        region.commit(130);
        rig.write(region, 0, 1);
        rig.machine.faults().add(FaultScript.failCall(call, 2));
        boolean told = false;
        try {
          scenario.run(region, stream);
        } catch (HoldfastException refused) {
          told = true;
        }
        struck = rig.machine.faults().strikes() > 0;
        rig.machine.faults().clear();
        // Asleep or as before where it was told; a sleep that was only half told is woken below.
        assertTrue(!told || region.count() == 130 || region.count() == 0, where);
        if (region.state() == State.RELEASED) {
          region.recommit();
        }
        if (region.epoch() == 0 || scenario != Scenario.SLEEP) {
          rig.assertWritten(region, 0, 1);
        }
        region.commit(region.count());
      }
    }
    assertTrue(call > 3, "only " + call + " calls");
  }
}
