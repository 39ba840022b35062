package io.holdfast.backend.cpusim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.backend.cpusim.driver.Codes;
import io.holdfast.backend.cpusim.driver.SimDriver;
import io.holdfast.error.UnsupportedException;
import io.holdfast.spi.AcceleratorDriver;
import io.holdfast.spi.DevicePort;
import java.lang.foreign.Arena;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Contexts and threads, as CUDA and HIP keep them. */
class ContextTest {
  private static final int MOST_PAIRS = 10_000;

  private final SimMachine machine = SimMachine.builder().leaks(LeakPolicy.IGNORE).build();
  private final SimDriver raw = machine.calls();
  private final long[] out = new long[2];

  @AfterEach
  void close() {
    machine.close();
  }

  @Test
  void nothingAnswersBeforeInitialisation() {
    assertEquals(3, raw.deviceGetCount(out));
    assertEquals(3, raw.memAlloc(out, 1));
    assertEquals(13000, raw.driverGetVersion());
    assertEquals(1, raw.init(1));
    assertEquals(3, raw.memRelease(1));
    assertEquals(0, raw.init(0));
    assertEquals(0, raw.deviceGetCount(out));
    assertEquals(2, out[0]);
  }

  @Test
  void withoutACurrentContextMostCallsAnswer201() {
    assertEquals(0, raw.init(0));
    try (Arena arena = Arena.ofConfined()) {
      long host = arena.allocate(4096, 4096).address();
      assertEquals(201, raw.memHostRegister(host, 4096, 3));
      assertEquals(713, raw.memHostUnregister(host));
      assertEquals(1, raw.pointerGetAttribute(out, 2, host));
      assertEquals(201, raw.memAlloc(out, 4096));
      assertEquals(201, raw.memGetInfo(out));
      assertEquals(201, raw.streamCreate(out, 0, 0));
      assertEquals(201, raw.eventCreate(out, 0));
    }
    assertEquals(0, raw.primaryCtxRetain(out, 0));
    assertEquals(201, raw.memGetInfo(out), "retaining does not make it current");
  }

  @Test
  void virtualMemoryNeedsNoContext() {
    assertEquals(0, raw.init(0));
    long granule = 2 << 20;
    long[] address = new long[1];
    long[] handle = new long[1];
    assertEquals(0, raw.memGetAllocationGranularity(out, 1, 0));
    assertEquals(granule, out[0]);
    assertEquals(0, raw.memAddressReserve(address, granule, 0, 0, 0));
    assertEquals(0, raw.memCreate(handle, granule, 1, 0, 1, 0, 0));
    assertEquals(0, raw.memMap(address[0], granule, 0, handle[0], 0));
    assertEquals(0, raw.memSetAccess(address[0], granule, 1, 0, 3));
    assertEquals(0, raw.memUnmap(address[0], granule));
    assertEquals(0, raw.memRelease(handle[0]));
    assertEquals(0, raw.memAddressFree(address[0], granule));
    assertTrue(machine.audit().clean(), machine.audit()::toString);
  }

  @Test
  void theSharedContextIsCounted() {
    AcceleratorDriver driver = machine.driver();
    DevicePort first = driver.open(0);
    DevicePort second = driver.open(0);
    assertEquals(2, raw.primaryCtxRetains(0));
    assertEquals(0, raw.primaryCtxRetains(1), "no context on a device that was not opened");

    first.close();
    first.close();
    assertEquals(1, raw.primaryCtxRetains(0));
    assertEquals(0, Answer.of(second::memoryInfo));
    second.close();
    assertEquals(201, raw.primaryCtxRelease(0));
    driver.close();
  }

  @Test
  void aContextCostsMemoryAndGivesItBack() {
    assertEquals(0, raw.init(0));
    DevicePort port = machine.driver().open(0);
    long before = port.memoryInfo().freeBytes();
    try (SimEngine engine = machine.engine(0)) {
      assertTrue(port.memoryInfo().freeBytes() < before - (256L << 20));
      assertTrue(engine.context() != 0);
    }
    assertEquals(before, port.memoryInfo().freeBytes());
    port.close();
  }

  @Test
  void aDestroyedContextAnswers709() {
    assertEquals(0, raw.init(0));
    assertEquals(0, raw.primaryCtxRetain(out, 0));
    long context = out[0];
    assertEquals(0, raw.ctxSetCurrent(context));
    assertEquals(0, raw.primaryCtxRelease(0));
    assertEquals(709, raw.memGetInfo(out));
    assertEquals(709, raw.memHostUnregister(4096));
    assertEquals(0, raw.primaryCtxRetain(out, 0));
    assertEquals(context, out[0], "the same handle again");
  }

  @Test
  void eachThreadHasItsOwnContext() {
    assertEquals(0, raw.init(0));
    assertEquals(0, raw.primaryCtxRetain(out, 0));
    assertEquals(0, raw.ctxSetCurrent(out[0]));
    assertEquals(0, raw.memGetInfo(out));
    assertEquals(201, CompletableFuture.supplyAsync(() -> raw.memGetInfo(new long[2])).join());
  }

  @Test
  void whatIsLeftCurrentOnACarrierIsSeenByItsNextVirtualThread() throws Exception {
    assertEquals(0, raw.init(0));
    assertEquals(0, raw.primaryCtxRetain(out, 0));
    long context = out[0];
    ConcurrentLinkedQueue<Long> seen = new ConcurrentLinkedQueue<>();
    // which carrier is next is the runtime's choice: a pair on one carrier comes soon, not at once
    for (int pair = 0; pair < MOST_PAIRS && !seen.contains(context); pair++) {
      Thread.ofVirtual().start(() -> raw.ctxSetCurrent(context)).join();
      Thread.ofVirtual().start(() -> seen.add(raw.ctxGetCurrent())).join();
    }
    assertTrue(seen.contains(context), "in " + MOST_PAIRS + " pairs");
  }

  @Test
  void anEnginesOwnContextServesAsWellAsTheSharedOne() {
    AcceleratorDriver driver = machine.driver();
    try (SimEngine engine = machine.engine(1)) {
      DevicePort port = driver.openOn(1, engine.context());
      assertEquals(0, raw.primaryCtxRetains(1), "no second context is paid for");
      assertEquals(0, port.adoptStream(engine.newStream()).context(), "its streams are our own");
      assertThrows(IllegalArgumentException.class, () -> driver.openOn(0, engine.context()));
      assertEquals(201, Answer.of(() -> driver.openOn(0, 0xBAD)));
      port.close();
      port.close();
      assertEquals(0, Answer.of(() -> engine.allocate(64)), "the engine's context lives on");
    }
    driver.close();
  }

  @Test
  void hipHasADevicePerThreadAndNoContexts() {
    try (SimMachine amd =
        SimMachine.builder().leaks(LeakPolicy.IGNORE).personality("hip-7.2").build()) {
      SimDriver hip = amd.calls();
      assertEquals(0, hip.memGetInfo(out), "any call initialises");
      assertEquals(0, hip.getDevice());
      assertEquals(101, hip.setDevice(2));
      assertEquals(101, hip.getLastError());
      assertEquals(0, hip.setDevice(1));
      assertEquals(
          0, CompletableFuture.supplyAsync(hip::getDevice).join(), "another thread has its own");
      AcceleratorDriver driver = amd.driver();
      assertThrows(UnsupportedException.class, () -> driver.openOn(0, 1));
      DevicePort port = driver.open(0);
      port.memoryInfo();
      assertEquals(1, hip.getDevice(), "the port puts the device back");
      port.close();
    }
  }

  @Test
  void hipKeepsTheLastErrorByItsVersionsRule() {
    for (String version : new String[] {"hip-6.4", "hip-7.0"}) {
      try (SimMachine amd =
          SimMachine.builder().leaks(LeakPolicy.IGNORE).personality(version).build()) {
        SimDriver hip = amd.calls();
        assertEquals(1, hip.memHostUnregister(0));
        assertEquals(0, hip.memGetInfo(out));
        assertEquals(version.equals("hip-7.0") ? 1 : 0, hip.peekAtLastError(), version);
        assertEquals(version.equals("hip-7.0") ? 1 : 0, hip.getLastError());
        assertEquals(0, hip.getLastError(), "reading clears it");
        DevicePort port = amd.driver().open(0);
        assertEquals(
            1, Answer.of(() -> port.free(new io.holdfast.spi.DeviceRange(77, 1))), version);
        assertEquals(0, hip.peekAtLastError(), "the port leaves no error behind");
        port.close();
      }
    }
  }

  @Test
  void aDriverWithoutDevicesSaysSo() {
    try (SimMachine empty = SimMachine.builder().devices(0, 1).build()) {
      assertEquals(Codes.NO_DEVICE, empty.calls().init(0));
      assertEquals(List.of(), empty.driver().devices());
    }
  }
}
