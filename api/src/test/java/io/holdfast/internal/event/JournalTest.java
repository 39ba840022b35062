package io.holdfast.internal.event;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.copy.CopyPath;
import io.holdfast.event.Activity;
import io.holdfast.event.Statistics;
import io.holdfast.event.Statistics.Series;
import io.holdfast.event.Statistics.Tally;
import io.holdfast.internal.tree.Standing;
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
import java.util.Optional;
import java.util.OptionalInt;
import java.util.TreeSet;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
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
    Series store = new Series(Activity.STORE, OptionalInt.of(0), Optional.of(CopyPath.BATCH));
    Series load = new Series(Activity.LOAD, OptionalInt.of(1), Optional.of(CopyPath.LOOP));
    Statistics before = Statistics.none().plus(store, one);
    Statistics after = before.plus(store, one).plus(load, one);

    Statistics since = after.since(before);

    assertEquals(new Statistics(Map.of(store, one, load, one)), since);
    assertEquals(Tally.NONE, since.of(Activity.MAP));
    assertEquals(one.plus(one), after.of(store));
    assertEquals(after.of(store), after.onDevice(0).of(Activity.STORE));
    assertEquals(Tally.NONE, after.onDevice(0).of(Activity.LOAD));
    assertEquals(Statistics.none(), after.since(after), "what is zero is not there");
  }

  @Test
  void what_is_told_on_a_devices_page_is_part_of_the_whole() {
    Journal journal = new Journal("test");
    CopyEnds ends = new CopyEnds(1, 0, "1*8", 4, "LAYER_MAJOR", "LAYER_MAJOR");
    journal.done(Activity.REGISTER, null, "whole", 1, 0);
    journal.onDevice(1).done(Activity.REGISTER, null, "one", 20, 0);
    journal.onDevice(2).done(Activity.REGISTER, null, "two", 300, 0);
    journal
        .onDevice(2)
        .copied(Activity.STORE, null, CopyPath.KERNEL, ends, 4, 8, 1, 1, 5, -1, 7, null);

    Statistics all = journal.statistics();

    assertEquals(321, all.of(Activity.REGISTER).bytes());
    assertEquals(20, all.onDevice(1).registeredBytes());
    assertEquals(
        new Tally(1, 0, 8, 7),
        all.of(new Series(Activity.STORE, OptionalInt.of(2), Optional.of(CopyPath.KERNEL))));
    assertEquals(300, journal.onDevice(2).statistics().of(Activity.REGISTER).bytes());
  }

  @Test
  void a_warning_is_logged_once_for_each_thing_whatever_its_numbers() {
    Journal journal = new Journal("warnings");
    Standing one = new Thing();
    Standing other = new Thing();
    List<String> heard =
        warnings(
            () -> {
              for (long bytes = 1 << 20; bytes > 4096; bytes /= 2) {
                journal.fallback(one, bytes + " bytes at 0x7f00 were refused; trying " + bytes / 2);
              }
              journal.warn(one, "something else");
              journal.fallback(other, "77 bytes at 0xbeef were refused; trying 38");
              journal.fallback("no huge pages");
              journal.fallback("no huge pages");
            });

    assertEquals(
        List.of(
            "backend warnings: 1048576 bytes at 0x7f00 were refused; trying 524288",
            "backend warnings: something else",
            "backend warnings: 77 bytes at 0xbeef were refused; trying 38",
            "backend warnings: no huge pages"),
        heard);
    assertEquals(11, journal.statistics().of(Activity.FALLBACK).count(), "each one is counted");
  }

  /** What the library logs meanwhile, by {@link System.Logger}'s way to java.util.logging. */
  private static List<String> warnings(Runnable work) {
    List<String> heard = new CopyOnWriteArrayList<>();
    Handler handler =
        new Handler() {
          @Override
          public void publish(LogRecord message) {
            heard.add(message.getMessage());
          }

          @Override
          public void flush() {}

          @Override
          public void close() {}
        };
    Logger logger = Logger.getLogger("io.holdfast");
    logger.addHandler(handler);
    try {
      work.run();
    } finally {
      logger.removeHandler(handler);
    }
    return heard;
  }

  private static final class Thing extends Standing {
    Thing() {
      super("a thing");
    }

    @Override
    protected void release() {}
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
