package io.holdfast.backend.cpusim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.Availability;
import io.holdfast.Backend;
import io.holdfast.BackendKind;
import io.holdfast.Backends;
import io.holdfast.Device;
import io.holdfast.backend.cpusim.driver.Codes;
import io.holdfast.backend.cpusim.driver.FaultScript;
import io.holdfast.backend.cpusim.driver.Operation;
import io.holdfast.device.DeviceStream;
import io.holdfast.spi.BackendProvider;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.StreamHandle;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The machine as a whole: found, opened, broken, closed. */
class PlainMachineTest {
  @Test
  void theProviderIsFoundAndSaysWhatItIs() {
    assertTrue(
        Backends.discover().entries().stream().anyMatch(entry -> entry.id().equals("cpu-sim")),
        "not registered");
    BackendProvider provider = new CpuSimProvider();
    List<String> tried = new ArrayList<>();
    Availability found = provider.probe((what, outcome) -> tried.add(what + ": " + outcome));

    assertEquals(BackendKind.SIMULATOR, provider.kind());
    assertEquals(BackendProvider.SPI_VERSION, provider.spiVersion());
    var available = assertInstanceOf(Availability.Available.class, found);
    assertEquals(2, available.devices().size());
    assertTrue(available.version().contains("simulated"), available.version());
    assertFalse(tried.isEmpty());
  }

  @Test
  void aBackendOnAMachineLeavesNothingBehind() {
    SimMachine machine = SimMachine.builder().leaks(LeakPolicy.IGNORE).build();
    try (Backend backend = machine.backend()) {
      Device device = backend.open(0);
      DeviceStream stream = device.newStream();
      stream.await();
      assertFalse(machine.audit().clean());
      assertTrue(machine.audit().streams() >= 1);
    }
    assertTrue(machine.audit().clean(), machine.audit()::toString);
    machine.close();
    assertFalse(machine.calls().isOpen());
    assertEquals(Codes.DEINITIALIZED, machine.calls().init(0));
  }

  @Test
  void closingEndsTheDevicesThreads() {
    SimMachine machine = SimMachine.builder().leaks(LeakPolicy.IGNORE).build();
    DevicePort port = machine.driver().open(0);
    List<StreamHandle> streams = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      StreamHandle stream = port.createStream(0);
      streams.add(stream);
      machine.calls().block(stream.value());
      port.fill(port.allocate(64), (byte) 1, stream);
    }
    machine.close();
    machine.close();
    assertEquals(4, Answer.of(() -> port.awaitStream(streams.get(0))));
    assertTrue(
        Thread.getAllStackTraces().keySet().stream()
            .noneMatch(thread -> thread.getName().startsWith("cpu-sim-device")));
  }

  @Test
  void theAuditNamesWhatIsLeft() {
    try (SimMachine machine = SimMachine.builder().leaks(LeakPolicy.IGNORE).build()) {
      DevicePort port = machine.driver().open(0);
      port.createStream(0);
      port.createEvent(io.holdfast.spi.EventKind.ORDER);
      port.allocate(1000);
      port.virtualMemory().orElseThrow().reserve(2 << 20, 0);

      assertEquals(
          List.of(
              "1 context retains",
              "1 device allocations",
              "1 address reservations",
              "1000 device bytes",
              "1 streams",
              "1 events"),
          machine.audit().leaks());
    }
  }

  @Test
  void engineThingsAreNotOurLeaks() {
    try (SimMachine machine = SimMachine.builder().leaks(LeakPolicy.IGNORE).build()) {
      SimEngine engine = machine.engine(0);
      engine.newStream();
      engine.newEvent();
      engine.allocate(100);
      assertTrue(machine.audit().clean(), machine.audit()::toString);
      engine.close();
      assertTrue(machine.audit().clean(), machine.audit()::toString);
    }
  }

  @Test
  void hugeDevicesCostNothing() {
    try (SimMachine machine =
        SimMachine.builder().leaks(LeakPolicy.IGNORE).devices(8, 4L << 40).build()) {
      for (int i = 0; i < 8; i++) {
        DevicePort port = machine.driver().open(i);
        StreamHandle stream = port.createStream(0);
        var range = port.allocate(3L << 40);
        port.fill(new io.holdfast.spi.DeviceRange(range.endAddress() - 10, 10), (byte) 1, stream);
        port.awaitStream(stream);
      }
    }
  }

  @Test
  void theKthCallOfAnOperationFailsAndHasNoEffect() {
    try (SimMachine machine = SimMachine.builder().leaks(LeakPolicy.IGNORE).build()) {
      DevicePort port = machine.driver().open(0);
      machine.faults().add(FaultScript.failCall(Operation.MEM_ALLOC, 2, 2));

      assertEquals(0, Answer.of(() -> port.allocate(64)));
      assertEquals(2, Answer.of(() -> port.allocate(64)));
      assertEquals(0, Answer.of(() -> port.allocate(64)));
      assertEquals(2, machine.audit().allocations());
      assertEquals(1, machine.faults().strikes());
      assertEquals(1, machine.ledger().refused(Operation.MEM_ALLOC));
    }
  }

  @Test
  void theKthCallAtAllPassesOverThreadBookkeeping() {
    try (SimMachine machine = SimMachine.builder().leaks(LeakPolicy.IGNORE).build()) {
      DevicePort port = machine.driver().open(0);
      machine.faults().add(FaultScript.failCall(3, 1));

      assertEquals(0, Answer.of(port::memoryInfo));
      assertEquals(0, Answer.of(() -> port.allocate(64)));
      assertEquals(1, Answer.of(port::memoryInfo));
    }
  }

  @Test
  void aCallHangsUntilReleasedAndThenDoesWhatItShould() throws InterruptedException {
    try (SimMachine machine = SimMachine.builder().leaks(LeakPolicy.IGNORE).build()) {
      DevicePort port = machine.driver().open(0);
      machine.faults().add(FaultScript.parse("mem-alloc 1 hang slow"));
      Thread caller = Thread.ofPlatform().start(() -> port.allocate(64));
      machine.faults().awaitHanging("slow");
      assertEquals(0, machine.audit().allocations());
      assertEquals(0, Answer.of(port::memoryInfo), "others go on");
      machine.faults().release("slow");
      caller.join();
      assertEquals(1, machine.audit().allocations());
    }
  }

  @Test
  void aScriptCanLoseTheDevice() {
    try (SimMachine machine =
        SimMachine.builder()
            .leaks(LeakPolicy.IGNORE)
            .faults(FaultScript.parse("memset-async 2 lose 719"))
            .build()) {
      DevicePort port = machine.driver().open(1);
      StreamHandle stream = port.createStream(0);
      var range = port.allocate(64);
      assertEquals(0, Answer.of(() -> port.fill(range, (byte) 1, stream)));
      assertEquals(719, Answer.of(() -> port.fill(range, (byte) 1, stream)));
      assertEquals(719, Answer.of(() -> port.allocate(64)));
      assertEquals(0, Answer.of(() -> machine.driver().open(0).memoryInfo()));
    }
  }
}
