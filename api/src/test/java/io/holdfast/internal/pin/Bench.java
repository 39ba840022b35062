package io.holdfast.internal.pin;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.holdfast.Backend;
import io.holdfast.internal.core.CoreDevice;
import io.holdfast.pin.Pinner;
import io.holdfast.spi.StandardBackend;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** A backend over the fakes with its first device open. */
final class Bench implements AutoCloseable {
  static final long MIB = 1L << 20;
  static final long GIB = 1L << 30;
  static final long BASE = 0x7000_0000_0000L;

  final FakeKernel kernel = new FakeKernel();
  final FakeDriver driver = new FakeDriver(kernel);
  final Backend backend = StandardBackend.builder("fake", driver).kernel(kernel).build();
  final CoreDevice device = (CoreDevice) backend.open(0);

  Pinner pinner() {
    return device.pinner();
  }

  CoreDevice openSecond() {
    return (CoreDevice) backend.open(1);
  }

  PinDesk desk() {
    return device.backend().pins();
  }

  void assertNothingLeft() {
    assertEquals(Map.of(), driver.registered(), "registrations");
    assertEquals(0, desk().pinnedBytes(), "pinned bytes");
    assertEquals(0, kernel.openHandles(), "open handles");
  }

  static void await(CountDownLatch latch) {
    try {
      if (!latch.await(30, TimeUnit.SECONDS)) {
        throw new AssertionError("nothing came within 30 seconds");
      }
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @Override
  public void close() {
    backend.close();
  }
}
