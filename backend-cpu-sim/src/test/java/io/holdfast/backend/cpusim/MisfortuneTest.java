package io.holdfast.backend.cpusim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.backend.cpusim.driver.FaultScript;
import io.holdfast.backend.cpusim.driver.Operation;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.DeviceRange;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a script makes go wrong on a machine, and what is said of what was left behind. */
@Timeout(value = 1, unit = TimeUnit.MINUTES)
class MisfortuneTest {
  @Test
  void aScriptFromAFileFailsHangsAndLosesADevice(@TempDir Path folder) throws Exception {
    Path script = folder.resolve("script");
    Files.writeString(
        script,
        """
        host-register  2  fail 2
        mem-alloc      2  hang there
        mem-get-info   1  lose 719
        """);
    try (SimMachine machine =
            SimMachine.builder().faults(FaultScript.read(script)).leaks(LeakPolicy.IGNORE).build();
        Arena arena = Arena.ofShared()) {
      DevicePort port = machine.driver().open(0);
      MemorySegment host = arena.allocate(8192, 4096);
      assertEquals(0, Answer.of(() -> port.register(host.asSlice(0, 4096))));
      assertEquals(2, Answer.of(() -> port.register(host.asSlice(4096, 4096))));

      port.allocate(4096);
      CompletableFuture<DeviceRange> hanging =
          CompletableFuture.supplyAsync(
              () -> port.allocate(4096), task -> Thread.ofPlatform().start(task));
      machine.faults().awaitHanging("there");
      assertFalse(hanging.isDone());
      machine.faults().release("there");
      assertEquals(4096, hanging.join().bytes());

      assertEquals(719, Answer.of(port::memoryInfo));
      assertEquals(719, Answer.of(() -> port.allocate(4096)), "and from now on");
    }
  }

  @Test
  void theSameSeedRefusesTheSameCalls() {
    List<String> first = refusals(11);

    assertEquals(3, first.size());
    assertEquals(first, refusals(11));
  }

  private static List<String> refusals(long seed) {
    try (SimMachine machine = SimMachine.builder().leaks(LeakPolicy.IGNORE).build()) {
      assertEquals(0, machine.calls().init(0));
      machine.faults().add(FaultScript.seeded(seed, 3, 20, 1));
      long begun = machine.ledger().mark();
      long[] out = new long[2];
      for (int call = 0; call < 20; call++) {
        machine.calls().deviceGetCount(out);
      }
      return machine.ledger().since(begun).stream()
          .filter(call -> call.code() != 0)
          .map(call -> call.index() - begun + " " + call.operation())
          .toList();
    }
  }

  @Test
  void whoLeavesSomethingIsWarnedAndATestFails() {
    List<String> warnings = new ArrayList<>();
    Handler listener =
        new Handler() {
          @Override
          public void publish(LogRecord line) {
            if (line.getLevel().equals(Level.WARNING)) {
              warnings.add(line.getMessage());
            }
          }

          @Override
          public void flush() {}

          @Override
          public void close() {}
        };
    Logger logger = Logger.getLogger(SimMachine.class.getName());
    logger.addHandler(listener);
    try {
      leave(LeakPolicy.WARN);
      assertEquals(1, warnings.size());
      assertTrue(warnings.getFirst().contains("1 registrations"), warnings.getFirst());
      leave(LeakPolicy.IGNORE);
      assertEquals(1, warnings.size());
      IllegalStateException failed =
          assertThrows(IllegalStateException.class, () -> leave(LeakPolicy.FAIL));
      assertTrue(String.valueOf(failed.getMessage()).contains("1 registrations"));
    } finally {
      logger.removeHandler(listener);
    }
  }

  private static void leave(LeakPolicy policy) {
    try (Arena arena = Arena.ofConfined();
        SimMachine machine = SimMachine.builder().leaks(policy).build()) {
      machine.driver().open(0).register(arena.allocate(4096, 4096));
      assertEquals(1, machine.ledger().count(Operation.HOST_REGISTER));
    }
  }
}
