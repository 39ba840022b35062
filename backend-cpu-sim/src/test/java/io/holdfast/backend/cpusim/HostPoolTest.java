package io.holdfast.backend.cpusim;

import static io.holdfast.device.Order.asIfOn;
import static io.holdfast.device.Order.unordered;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.Backend;
import io.holdfast.Device;
import io.holdfast.backend.cpusim.SimEngine.CaptureMode;
import io.holdfast.backend.cpusim.driver.FaultScript;
import io.holdfast.backend.cpusim.driver.Operation;
import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.CopyRoute;
import io.holdfast.device.DeviceAllocation;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.device.DeviceStream;
import io.holdfast.error.BusyException;
import io.holdfast.error.HoldfastException;
import io.holdfast.host.HostRegion;
import io.holdfast.host.HostRequest;
import io.holdfast.host.SharedRegion;
import io.holdfast.host.SharedRequest;
import io.holdfast.layout.Arrangement;
import io.holdfast.layout.BlockShape;
import io.holdfast.pin.CutPolicy;
import io.holdfast.pin.HostBlocks.Access;
import io.holdfast.pin.NoPlanException;
import io.holdfast.pin.NotReadyException;
import io.holdfast.pin.PinException;
import io.holdfast.pin.PinPacing;
import io.holdfast.pin.PinRequest;
import io.holdfast.pin.PinRequest.OnFailure;
import io.holdfast.pin.PinnedRange;
import io.holdfast.pin.PinnedRegion;
import io.holdfast.pin.Pinner;
import io.holdfast.pin.SlotLease;
import io.holdfast.pool.HostPool;
import io.holdfast.pool.PoolOptions;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Pools and pins from end to end, over a simulated driver and this machine's own pages. */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class HostPoolTest {
  private static final long MIB = 1L << 20;
  private static final BlockShape SHAPE = BlockShape.of(4, 16 << 10);
  private static final PinRequest FINE =
      PinRequest.strict().sliceBytes(MIB).pacing(PinPacing.flatOut());

  private final SimMachine machine = SimMachine.builder().leaks(LeakPolicy.FAIL).build();
  private final Backend backend = machine.backend();
  private final Device device = backend.open(0);
  private final DeviceAllocation memory = device.memory().allocate(4 * MIB);
  private final DeviceBlocks blocks =
      DeviceBlocks.of(memory.segment(), SHAPE.layerMajor(4 * MIB / SHAPE.bytes()));

  @AfterEach
  void nothingIsLeft() {
    backend.close();
    machine.close();
  }

  private HostPool open(long bytes, PinRequest pin) {
    return HostPool.open(
        device, blocks, HostRequest.ofBytes(bytes), PoolOptions.defaults().pin(pin));
  }

  private long registrations() {
    return machine.audit().registrations();
  }

  private boolean isMapped(long address) {
    return machine
        .kernel()
        .text("/proc/self/maps")
        .orElse("")
        .lines()
        .anyMatch(
            line -> {
              long from = Long.parseUnsignedLong(line.substring(0, line.indexOf('-')), 16);
              long to =
                  Long.parseUnsignedLong(
                      line.substring(line.indexOf('-') + 1, line.indexOf(' ')), 16);
              return Long.compareUnsigned(from, address) <= 0
                  && Long.compareUnsigned(address, to) < 0;
            });
  }

  /** Field report B25: pages come before they are registered, and each phase has its time. */
  @Test
  void b25_pagesArePopulatedBeforeTheDriverIsAskedAndEachPhaseIsTimed() {
    try (HostPool pool = open(8 * MIB, FINE)) {
      var placed = pool.region().receipt();
      assertTrue(placed.map().isPositive());
      assertTrue(placed.populate().isPositive());
      assertTrue(pool.pinned().receipt().longestCallNanos() > 0);
      assertEquals(8 * MIB, pool.region().populatedBytes());
    }
  }

  @Test
  void bytesAreABudgetForWholeBlocks() {
    try (HostPool pool = open(8 * MIB + SHAPE.bytes() - 1, FINE)) {
      assertEquals(128, pool.slots());
      assertEquals(128, pool.readySlots());
      assertEquals(8 * MIB, pool.region().logicalBytes());
      assertEquals(8 * MIB, pool.pinned().registeredBytes());
      assertEquals(8, pool.pinned().ranges().size());
      assertTrue(pool.ready().isDone());
    }
    try (HostPool pool = open(1, FINE)) {
      assertEquals(1, pool.slots());
      assertEquals(SHAPE.bytes(), pool.region().logicalBytes());
    }
  }

  @ParameterizedTest
  @EnumSource
  void whatIsStoredIsLoaded(Arrangement arrangement) {
    PoolOptions options = PoolOptions.defaults().pin(FINE).arrangement(arrangement);
    try (HostPool pool = HostPool.open(device, blocks, HostRequest.ofBytes(8 * MIB), options);
        DeviceStream stream = device.newStream();
        SimEngine engine = machine.engineOnSharedContext(0)) {
      byte[] content = new byte[(int) (4 * MIB)];
      for (int i = 0; i < content.length; i++) {
        content[i] = (byte) (i * 31 + (i >> 14));
      }
      long address = memory.segment().rawAddress();
      engine.write(address, content);
      BlockCopies copies = BlockCopies.withCapacity(64);
      for (int block = 0; block < 64; block++) {
        copies.add(block, (block * 37 + 5) % 128); // 37 and 128 have no common factor
      }
      pool.store(copies, asIfOn(stream)).await();
      engine.write(address, new byte[content.length]);
      pool.load(copies, asIfOn(stream)).await();
      assertArrayEquals(content, engine.read(address, content.length));
      try (SlotLease lease = pool.lease(5, Access.READ)) {
        assertEquals(content[0], lease.part(0).get(ValueLayout.JAVA_BYTE, 0));
      }
    }
    assertEquals(0, registrations());
  }

  @Test
  void inTheBackgroundTheFirstSlotsAreUsedBeforeTheLastArePinned() {
    PinRequest inTurn = FINE.pacing(PinPacing.flatOut());
    PoolOptions options = PoolOptions.defaults().pin(inTurn).arrangement(Arrangement.BLOCK_MAJOR);
    machine.faults().add(hangAt(Operation.HOST_REGISTER, 3, "third"));
    HostPool pool =
        HostPool.openInBackground(device, blocks, HostRequest.ofBytes(8 * MIB), options);
    pool.awaitSlots(32);
    assertEquals(32, pool.readySlots());
    assertFalse(pool.ready().isDone());
    pool.store(BlockCopies.device(0, 1).host(0, 31), unordered()).await();
    NotReadyException above =
        assertThrows(
            NotReadyException.class, () -> pool.store(BlockCopies.device(0).host(32), unordered()));
    assertEquals(32, above.slot());
    machine.faults().release("third");
    pool.ready().join();
    assertEquals(128, pool.readySlots());
    pool.store(BlockCopies.device(0).host(127), unordered()).await();
    pool.close();
  }

  private static FaultScript hangAt(Operation operation, long call, String name) {
    return FaultScript.none()
        .and(Set.of(operation), new FaultScript.At(call, call), new FaultScript.Hang(name));
  }

  @Test
  void aPoolIsHostBlocksForASecondDevice() {
    Device second = backend.open(1);
    DeviceAllocation others = second.memory().allocate(MIB);
    DeviceBlocks theirs = DeviceBlocks.of(others.segment(), SHAPE.layerMajor(16));
    try (HostPool pool = open(8 * MIB, FINE);
        CopyRoute route = second.copyEngine().route(theirs, pool);
        SimEngine engine = machine.engineOnSharedContext(0)) {
      byte[] content = new byte[16 << 10];
      content[77] = 7;
      engine.write(memory.segment().rawAddress(), content);
      pool.store(BlockCopies.device(0).host(9), unordered()).await();
      route.load(BlockCopies.device(3).host(9), unordered()).await();
      long there = theirs.plane(0).memory().rawAddress() + 3 * (16 << 10);
      try (SimEngine elsewhere = machine.engineOnSharedContext(1)) {
        assertArrayEquals(content, elsewhere.read(there, content.length));
      }
    }
  }

  @Test
  void aLeaseRefusesTheCloseAndNothingIsUndone() {
    HostPool pool = open(2 * MIB, FINE);
    SlotLease lease = pool.lease(3, Access.WRITE);
    assertThrows(BusyException.class, pool::close);
    assertEquals(2, registrations());
    lease.part(0).set(ValueLayout.JAVA_BYTE, 0, (byte) 9);
    lease.close();
    pool.store(BlockCopies.device(0).host(0), unordered()).await();
    pool.close();
    pool.close();
    assertEquals(0, registrations());
  }

  @Test
  void whatCannotBePlannedTouchesNoPage() {
    PinRequest never = PinRequest.strict().cuts(CutPolicy.NEVER_INSIDE_BLOCK).capBytes(4096);
    long begun = machine.ledger().mark();
    assertThrows(NoPlanException.class, () -> open(1L << 46, never));
    System.setProperty(Pinner.BUDGET_PROPERTY, "4096");
    try {
      PinException over = assertThrows(PinException.class, () -> open(1L << 46, FINE));
      assertEquals(PinException.Reason.HOST_BUDGET, over.reason());
    } finally {
      System.clearProperty(Pinner.BUDGET_PROPERTY);
    }
    assertEquals(
        List.of(),
        machine.ledger().since(begun).stream()
            .map(Object::toString)
            .filter(call -> call.contains("Register"))
            .toList());
  }

  @Test
  void bestEffortLeavesAPoolOfWhatCouldBePinned() {
    machine.faults().add(FaultScript.failCall(Operation.HOST_REGISTER, 5, 2));
    PinRequest keep = FINE.onFailure(OnFailure.KEEP_WHAT_WORKED);
    PoolOptions options = PoolOptions.defaults().pin(keep).arrangement(Arrangement.BLOCK_MAJOR);
    try (HostPool pool = HostPool.open(device, blocks, HostRequest.ofBytes(8 * MIB), options)) {
      assertEquals(64, pool.readySlots());
      assertEquals(4 * MIB, pool.pinned().registeredBytes());
      pool.store(BlockCopies.device(0).host(63), unordered()).await();
      assertThrows(PinException.class, () -> pool.awaitSlots(65));
      CompletionException failed =
          assertThrows(CompletionException.class, () -> pool.ready().join());
      assertInstanceOf(PinException.class, failed.getCause());
    }
  }

  @Test
  void foreignMemoryIsPinnedPageExactAndLeftToItsOwner() {
    HostRegion owners = backend.pageSource().map(HostRequest.ofBytes(4 * MIB));
    MemorySegment foreign = owners.segment();
    HostRegion adopted = backend.pageSource().adopt(foreign);
    PinnedRegion pinned = device.pinner().pin(adopted, FINE);
    assertEquals(4, registrations());
    HostRegion again = backend.pageSource().adopt(foreign.asSlice(MIB, MIB));
    PinException twice = assertThrows(PinException.class, () -> device.pinner().pin(again, FINE));
    assertEquals(PinException.Reason.PINNED_ALREADY, twice.reason());
    again.close();
    adopted.close();
    assertEquals(0, registrations());
    assertEquals(0, pinned.registeredBytes());
    foreign.set(ValueLayout.JAVA_BYTE, 0, (byte) 1);
    MemorySegment unaligned = foreign.asSlice(100, MIB);
    assertThrows(IllegalArgumentException.class, () -> backend.pageSource().adopt(unaligned));
    MemorySegment readOnly = foreign.asReadOnly();
    assertThrows(IllegalArgumentException.class, () -> backend.pageSource().adopt(readOnly));
    owners.close();
  }

  @Test
  void whatAnEngineHasRegisteredIsLeftToIt() {
    HostRegion region = backend.pageSource().map(HostRequest.ofBytes(4 * MIB));
    try (SimEngine engine = machine.engine(0)) {
      MemorySegment part = region.segment().asSlice(2 * MIB, 4096);
      engine.register(part);
      PinException foreign =
          assertThrows(PinException.class, () -> device.pinner().pin(region, FINE));
      assertEquals(PinException.Reason.REGISTERED_BY_OTHERS, foreign.reason());
      assertEquals(712, foreign.driver().orElseThrow().code());
      assertEquals(0, registrations());
      engine.unregister(part);
    }
    device.pinner().pin(region, FINE).close();
    region.close();
  }

  @ParameterizedTest
  @EnumSource
  void anEnginesCaptureIsNotHarmed(CaptureMode mode) {
    try (SimEngine engine = machine.engine(0)) {
      long captured = engine.newStream();
      long there = engine.allocate(4096);
      engine.beginCapture(captured, mode);
      HostPool pool = open(8 * MIB, FINE);
      pool.close();
      engine.fill(there, 4096, (byte) 5, captured);
      long graph = engine.endCapture(captured);
      engine.launch(graph, captured);
      engine.synchronize(captured);
      assertEquals(5, engine.read(there, 1)[0]);
    }
  }

  @Test
  void virtualThreadsMayOpenAndClose() throws InterruptedException {
    List<Thread> threads = new ArrayList<>();
    List<Throwable> failures = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      threads.add(
          Thread.ofVirtual()
              .start(
                  () -> {
                    try (HostPool pool = open(2 * MIB, FINE)) {
                      pool.store(BlockCopies.device(1).host(2), unordered()).await();
                    } catch (Throwable failure) {
                      synchronized (failures) {
                        failures.add(failure);
                      }
                    }
                  }));
    }
    for (Thread thread : threads) {
      thread.join();
    }
    assertEquals(List.of(), failures);
  }

  @Test
  void closingTheDeviceClosesThePoolFirst() {
    HostPool pool =
        HostPool.openInBackground(
            device, blocks, HostRequest.ofBytes(64 * MIB), PoolOptions.defaults().pin(FINE));
    CompletableFuture<Void> ready = pool.ready();
    device.close();
    assertEquals(0, registrations());
    // pinned before the close or broken off by it: either way somebody is told
    assertTrue(ready.handle((_, _) -> true).orTimeout(1, TimeUnit.MINUTES).join());
    pool.close();
  }

  /** What a user does with a pool. */
  enum Scenario {
    OPEN,
    OPEN_IN_BACKGROUND,
    CANCEL,
    CLOSE_AT_ONCE,
    OPEN_TWICE
  }

  @ParameterizedTest
  @EnumSource
  void theKthDriverCallFails(Scenario scenario) {
    List<Operation> operations =
        List.of(
            Operation.HOST_REGISTER,
            Operation.HOST_UNREGISTER,
            Operation.HOST_GET_DEVICE_POINTER,
            Operation.STREAM_CREATE,
            Operation.EVENT_CREATE,
            Operation.MEM_GET_INFO);
    for (String personality : List.of("cuda-580", "hip-7.1")) {
      for (Operation operation : operations) {
        for (int k = 1; k <= 7; k++) {
          sweep(scenario, personality, operation, k);
        }
      }
    }
  }

  private static void sweep(Scenario scenario, String personality, Operation operation, int k) {
    String where = scenario + " on " + personality + ", call " + k + " of " + operation;
    SimMachine machine =
        SimMachine.builder().personality(personality).leaks(LeakPolicy.IGNORE).build();
    try (Backend backend = machine.backend()) {
      Device device = backend.open(0);
      DeviceAllocation memory = device.memory().allocate(MIB);
      DeviceBlocks blocks = DeviceBlocks.of(memory.segment(), SHAPE.layerMajor(16));
      machine.faults().add(FaultScript.failCall(operation, k, 2));
      List<Throwable> errors = new ArrayList<>();
      use(scenario, device, blocks, errors);
      machine.faults().clear();
      for (Throwable error : errors) {
        assertInstanceOf(HoldfastException.class, error, where);
        assertTrue(
            !(error instanceof PinException pin)
                || pin.reason() == PinException.Reason.CANCELLED
                || pin.driver().orElseThrow().code() == 2,
            where);
      }
      assertEquals(device.pinner().quarantine().size(), machine.audit().registrations(), where);
      assertEquals(List.of(), device.pinner().retryQuarantine(), where);
      assertEquals(0, machine.audit().registrations(), where);
    }
    assertEquals(List.of(), machine.audit().leaks(), where);
    machine.close();
  }

  private static void use(
      Scenario scenario, Device device, DeviceBlocks blocks, List<Throwable> errors) {
    HostRequest bytes = HostRequest.ofBytes(3 * MIB);
    PoolOptions options = PoolOptions.defaults().pin(FINE);
    switch (scenario) {
      case OPEN ->
          attempt(
              errors,
              () -> {
                HostPool pool = HostPool.open(device, blocks, bytes, options);
                attempt(errors, pool::close);
              });
      case OPEN_IN_BACKGROUND ->
          attempt(
              errors,
              () -> {
                HostPool pool = HostPool.openInBackground(device, blocks, bytes, options);
                attempt(errors, () -> pool.ready().join());
                attempt(errors, pool::close);
              });
      case CANCEL ->
          attempt(
              errors,
              () -> {
                HostPool pool = HostPool.openInBackground(device, blocks, bytes, options);
                pool.pinned().cancel();
                attempt(errors, pool::close);
              });
      case CLOSE_AT_ONCE ->
          attempt(
              errors,
              () -> {
                HostPool pool = HostPool.openInBackground(device, blocks, bytes, options);
                attempt(errors, pool::close);
              });
      case OPEN_TWICE -> {
        attempt(
            errors,
            () -> {
              HostPool pool = HostPool.open(device, blocks, bytes, options);
              attempt(errors, () -> HostPool.open(device, blocks, bytes, options).close());
              attempt(errors, pool::close);
            });
      }
    }
  }

  private static void attempt(List<Throwable> errors, Runnable step) {
    try {
      step.run();
    } catch (CompletionException wrapped) {
      errors.add(wrapped.getCause() == null ? wrapped : wrapped.getCause());
    } catch (RuntimeException error) {
      errors.add(error);
    }
  }

  @Test
  void pagesOfAQuarantinedRangeStayMappedUntilARetrySucceeds() {
    HostPool pool = open(4 * MIB, FINE);
    long address = pool.region().segment().address();
    PinnedRange second = pool.pinned().ranges().get(1);
    machine.faults().add(FaultScript.failCall(Operation.HOST_UNREGISTER, 3, 999));
    PinException stuck = assertThrows(PinException.class, pool::close);
    assertEquals(PinException.Reason.STILL_PINNED, stuck.reason());
    assertEquals(second.offsetBytes(), stuck.offsetBytes());
    assertTrue(isMapped(address + MIB));
    assertFalse(isMapped(address));
    assertFalse(isMapped(address + 3 * MIB));
    assertEquals(1, device.pinner().quarantine().size());
    assertEquals(List.of(), device.pinner().retryQuarantine());
    assertFalse(isMapped(address + MIB));
  }

  @ParameterizedTest
  @ValueSource(strings = {"hip-6.4", "hip-7.15"})
  void addressesThatDifferPerRangeAreUsedForCopiesOnly(String personality) {
    SimMachine other = SimMachine.builder().personality(personality).leaks(LeakPolicy.FAIL).build();
    try (Backend hip = other.backend()) {
      Device first = hip.open(0);
      DeviceAllocation there = first.memory().allocate(MIB);
      DeviceBlocks theirs = DeviceBlocks.of(there.segment(), SHAPE.layerMajor(16));
      HostPool pool =
          HostPool.open(
              first, theirs, HostRequest.ofBytes(4 * MIB), PoolOptions.defaults().pin(FINE));
      assertNotEquals(
          pool.region().segment().address(),
          pool.pinned().ranges().getFirst().seenByDevice().rawAddress());
      pool.store(BlockCopies.device(0, 1, 2).host(0, 33, 63), unordered()).await();
      pool.close();
      assertEquals(0, other.audit().registrations());
    }
    other.close();
  }

  @Test
  void eachRankPinsItsOwnSliceOfASharedRegion() {
    SharedRequest request =
        SharedRequest.named(
            "holdfast-pins-" + ProcessHandle.current().pid(), 2, HostRequest.ofBytes(2 * MIB));
    CompletableFuture<SharedRegion> joining =
        CompletableFuture.supplyAsync(() -> backend.pageSource().share(request, 1));
    SharedRegion first = backend.pageSource().share(request, 0);
    SharedRegion second = joining.join();
    PinnedRegion one = device.pinner().pin(first.mine(), FINE);
    PinnedRegion other = device.pinner().pin(second.mine(), FINE);
    assertEquals(4, registrations()); // 2 MiB each, not 4 MiB each
    assertEquals(2 * MIB, one.registeredBytes());
    assertEquals(2 * MIB, other.registeredBytes());
    assertEquals(
        second.mine().segment().address(), other.ranges().getFirst().seenByDevice().rawAddress());
    first.close();
    assertEquals(2, registrations());
    second.close();
    assertEquals(0, registrations());
  }
}
