package io.holdfast.backend.cpusim;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.holdfast.backend.cpusim.driver.DeviceSpec;
import io.holdfast.backend.cpusim.driver.FaultScript;
import io.holdfast.backend.cpusim.driver.SimSchedule;
import io.holdfast.backend.cpusim.driver.VirtualClock;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;

/** Time as the machine's clock has it, without waiting for any. */
class TimeTest {
  private static final long MIB = 1 << 20;

  private final VirtualClock clock = new VirtualClock();

  @Test
  void aLinkIsSharedByWhatGoesOneWayAndTakesItsTime() {
    DeviceSpec slow =
        new DeviceSpec(
            "Simulated device",
            "5e100000-0000-4000-8000-000000000000",
            "",
            1L << 30,
            OptionalInt.empty(),
            1L << 30);
    try (SimMachine machine =
            SimMachine.builder()
                .devices(List.of(slow))
                .clock(clock)
                .schedule(SimSchedule.eager())
                .leaks(LeakPolicy.FAIL)
                .build();
        SimEngine engine = machine.engine(0);
        Arena arena = Arena.ofConfined()) {
      MemorySegment host = arena.allocate(MIB, 4096);
      long memory = engine.allocate(2 * MIB);
      long[] streams = {engine.newStream(), engine.newStream()};
      engine.register(host);
      engine.makeCurrent();
      long aMebibyte = 976_562; // nanoseconds at 1 GiB/s

      assertEquals(0, machine.calls().memcpyHtoDAsync(memory, host.address(), MIB, streams[0]));
      assertEquals(aMebibyte, clock.nanoTime());
      assertEquals(
          0, machine.calls().memcpyHtoDAsync(memory + MIB, host.address(), MIB, streams[1]));
      assertEquals(2 * aMebibyte, clock.nanoTime());
      assertEquals(0, machine.calls().memcpyDtoHAsync(host.address(), memory, MIB / 2, streams[0]));
      assertEquals(2 * aMebibyte + aMebibyte / 2, clock.nanoTime());
      assertEquals(0, machine.calls().memcpyDtoDAsync(memory, memory + MIB, 0, streams[0]));
      assertEquals(2 * aMebibyte + aMebibyte / 2, clock.nanoTime());
      engine.makeNoneCurrent();
      engine.unregister(host);
    }
  }

  @Test
  void aDelayedCallTakesItsTimeAndIsDone() {
    try (SimMachine machine = SimMachine.builder().clock(clock).leaks(LeakPolicy.FAIL).build();
        SimEngine engine = machine.engine(0)) {
      long event = engine.newEvent();
      machine.faults().add(FaultScript.parse("event-query every 5 delay 2ms"));

      for (int call = 1; call <= 11; call++) {
        assertEquals(0, engine.query(event));
        assertEquals(call / 5 * 2_000_000L, clock.nanoTime(), "call " + call);
      }
    }
  }
}
