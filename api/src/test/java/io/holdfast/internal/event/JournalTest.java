package io.holdfast.internal.event;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.event.Activity;
import io.holdfast.event.Statistics;
import io.holdfast.event.Statistics.Tally;
import io.holdfast.spi.BatchCopyPort;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.HostAllocationPort;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.KernelCopyPort;
import io.holdfast.spi.PitchedCopyPort;
import io.holdfast.spi.VirtualMemoryPort;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

final class JournalTest {
  @Test
  void a_failure_counts_without_its_bytes() {
    Journal journal = new Journal("test");
    journal.done(Activity.REGISTER, null, "one", 4096, 10);
    journal.failed(Activity.REGISTER, null, "two", 20, new IllegalStateException("no"));

    assertEquals(new Tally(2, 1, 4096, 30), journal.statistics().of(Activity.REGISTER));
    assertEquals(4096, journal.statistics().registeredBytes());
  }

  @Test
  void statistics_are_values_that_can_be_added_and_taken_apart() {
    Tally one = new Tally(1, 0, 5, 7);
    Statistics before = Statistics.none().plus(Activity.STORE, one);
    Statistics after = before.plus(Activity.STORE, one).plus(Activity.LOAD, one);

    Statistics since = after.since(before);

    assertEquals(new Statistics(Map.of(Activity.STORE, one, Activity.LOAD, one)), since);
    assertEquals(Tally.NONE, since.of(Activity.MAP));
  }

  @Test
  void a_native_call_counts_from_the_threshold_on() {
    Journal journal = new Journal("test");
    journal.called("quick", System.nanoTime());
    journal.called("slow", System.nanoTime() - 10_000_000_000L);

    Tally calls = journal.statistics().of(Activity.NATIVE_CALL);

    assertEquals(1, calls.count());
    assertTrue(calls.nanos() >= 10_000_000_000L, calls.toString());
  }

  @Test
  void timed_ports_pass_on_every_method_of_a_port() {
    assertPassesOn(HostKernel.class, TimedHostKernel.class);
    assertPassesOn(DevicePort.class, TimedDevicePort.class);
    for (Class<?> port :
        List.of(
            BatchCopyPort.class,
            KernelCopyPort.class,
            PitchedCopyPort.class,
            HostAllocationPort.class,
            VirtualMemoryPort.class,
            VirtualMemoryPort.FabricPort.class,
            VirtualMemoryPort.DmaBufPort.class)) {
      Class<?> timed =
          Arrays.stream(TimedDevicePort.class.getDeclaredClasses())
              .filter(port::isAssignableFrom)
              .findFirst()
              .orElseThrow(() -> new AssertionError("no timed " + port));
      assertPassesOn(port, timed);
    }
  }

  /** A default method that is not passed on would hide what the port behind can do. */
  private static void assertPassesOn(Class<?> port, Class<?> timed) {
    TreeSet<String> missing = new TreeSet<>();
    for (Method method : port.getMethods()) {
      if (Modifier.isStatic(method.getModifiers()) || method.getDeclaringClass() == Object.class) {
        continue;
      }
      try {
        var _ = timed.getDeclaredMethod(method.getName(), method.getParameterTypes());
      } catch (NoSuchMethodException absent) {
        missing.add(method.toString());
      }
    }
    assertEquals(new TreeSet<>(), missing, timed + " does not pass on");
  }
}
