package io.holdfast.conformance;

import static io.holdfast.device.Order.unordered;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.copy.BlockCopies;
import io.holdfast.device.DeviceAllocation;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.error.DriverException;
import io.holdfast.error.DriverFault;
import io.holdfast.host.HostRegion;
import io.holdfast.host.HostRequest;
import io.holdfast.layout.BlockShape;
import io.holdfast.pin.HostBlocks.Access;
import io.holdfast.pin.SlotLease;
import io.holdfast.pool.HostPool;
import io.holdfast.spi.CaptureState;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.DeviceRange;
import io.holdfast.spi.EventHandle;
import io.holdfast.spi.EventKind;
import io.holdfast.spi.StreamHandle;
import io.holdfast.spi.StreamOrigin;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** The accelerator port itself: what policy relies on. */
abstract class PortRules extends Rules {
  PortRules(Conformance kit) {
    super(kit);
  }

  @Test
  @Covers({Rule.PRT_01, Rule.PRT_06, Rule.ERR_01})
  final void prt01_unregistering_what_is_not_registered_is_refused_and_named() {
    try (HostRegion region = backend.pageSource().map(HostRequest.ofBytes(1 << 20))) {
      refusesToUnregister(region);
      tap.port().register(whole(region));
      tap.port().unregister(whole(region));
      refusesToUnregister(region);
    }
  }

  /** By the driver's code; a port that must find the range first says that it is an argument's. */
  private void refusesToUnregister(HostRegion region) {
    RuntimeException refused =
        assertThrows(RuntimeException.class, () -> tap.port().unregister(whole(region)));
    if (refused instanceof DriverException code) {
      told(code);
      assertTrue(
          Set.of(DriverFault.NOT_REGISTERED, DriverFault.INVALID_ARGUMENT).contains(code.fault()),
          code.getMessage());
    } else {
      assertInstanceOf(IllegalArgumentException.class, refused);
      assertFalse(String.valueOf(refused.getMessage()).isBlank());
    }
  }

  private static MemorySegment whole(HostRegion region) {
    return region.segment().asSlice(0, region.mappedBytes());
  }

  private void told(DriverException refused) {
    assertNotEquals(0, refused.code());
    assertFalse(refused.codeName().isBlank());
    assertFalse(refused.operation().isBlank());
    assertEquals(backend.id(), refused.backend());
    String message = String.valueOf(refused.getMessage());
    assertTrue(message.contains(String.valueOf(refused.code())), message);
    assertTrue(message.contains(refused.codeName()), message);
  }

  @Test
  @Covers(Rule.PRT_02)
  final void prt02_no_allocation_is_found_where_there_is_none() {
    DevicePort port = tap.port();
    assertEquals(Optional.empty(), port.rangeOf(4096));
    DeviceRange range = port.allocate(3 << 20);
    assertEquals(3 << 20, range.bytes());
    for (long offset : new long[] {0, 1, (3 << 20) - 1}) {
      DeviceRange found = port.rangeOf(range.address() + offset).orElseThrow();
      assertEquals(range.address(), found.address());
      assertTrue(found.bytes() >= 3 << 20, found.toString());
    }
    port.free(range);
    assertEquals(Optional.empty(), port.rangeOf(range.address()));
  }

  @Test
  @Covers(Rule.PRT_03)
  final void prt03_a_fill_sets_every_byte_and_nothing_beside() {
    BlockShape shape = BlockShape.of(1, 4099);
    DevicePort port = tap.port();
    try (DeviceAllocation on = device.memory().allocate(4 * shape.bytes());
        HostPool pool =
            HostPool.open(
                device,
                DeviceBlocks.of(on.segment(), shape.blockMajor(4)),
                HostRequest.ofBytes(4 * shape.bytes()))) {
      long second = on.segment().rawAddress() + 4099;
      StreamHandle stream = port.createStream(0);
      for (int i = 0; i < 4; i++) {
        write(pool, i, i);
      }
      pool.load(BlockCopies.device(0, 1, 2, 3).host(0, 1, 2, 3), unordered()).await();
      port.fill(new DeviceRange(second, 4099), (byte) 1, stream);
      port.fill(new DeviceRange(second + 7, 13), (byte) -2, stream);
      port.awaitStream(stream);
      assertTrue(port.streamIdle(stream));
      port.destroyStream(stream);
      pool.store(BlockCopies.device(0, 1, 2).host(3, 1, 0), unordered()).await();
      check(pool, 3, 0);
      check(pool, 0, 2);
      try (SlotLease lease = pool.lease(1, Access.READ)) {
        byte[] bytes = lease.part(0).toArray(ValueLayout.JAVA_BYTE);
        for (int at = 0; at < bytes.length; at++) {
          assertEquals(at >= 7 && at < 20 ? -2 : 1, bytes[at], "byte " + at);
        }
      }
    }
  }

  @Test
  @Covers(Rule.PRT_04)
  final void prt04_an_event_that_was_awaited_has_passed_and_time_does_not_run_back() {
    DevicePort port = tap.port();
    DeviceRange memory = port.allocate(1 << 20);
    StreamHandle stream = port.createStream(Integer.MAX_VALUE);
    assertEquals(StreamOrigin.OWN_CONTEXT, port.originOf(stream));
    assertEquals(CaptureState.NONE, port.captureState(stream));
    EventHandle before = port.createEvent(EventKind.TIMED);
    EventHandle behind = port.createEventFor(stream, EventKind.TIMED);
    port.recordEvent(before, stream);
    port.fill(memory, (byte) 3, stream);
    port.recordEvent(behind, stream);
    port.awaitEvent(behind);
    assertTrue(port.eventPassed(behind));
    assertTrue(port.eventPassed(before));
    assertTrue(port.nanosBetween(before, behind) >= 0);
    port.destroyEvent(before);
    port.destroyEvent(behind);
    port.destroyStream(stream);
    port.free(memory);
  }

  @Test
  @Covers(Rule.PRT_05)
  final void prt05_a_devices_port_can_be_closed_twice() {
    DevicePort port = tap.driver().open(0);
    port.close();
    port.close();
    withPool(2, 2, pool -> pool.store(BlockCopies.device(0).host(1), unordered()).await());
  }

  @Test
  @Covers({Rule.PRT_07, Rule.PRT_06})
  final void prt07_a_refused_call_leaves_no_error_behind() {
    DevicePort port = tap.port();
    for (Runnable wrong :
        List.<Runnable>of(
            () -> port.allocate(Long.MAX_VALUE >> 1),
            () -> port.unregister(Arena.ofAuto().allocate(4096, 4096)),
            () -> port.free(new DeviceRange(12_345, 10)))) {
      RuntimeException refused = assertThrows(RuntimeException.class, wrong::run);
      if (refused instanceof DriverException code) {
        told(code);
      }
      withPool(
          2,
          4,
          pool -> {
            write(pool, 0, 5);
            pool.load(BlockCopies.device(1).host(0), unordered()).await();
            pool.store(BlockCopies.device(1).host(3), unordered()).await();
            check(pool, 3, 5);
          });
    }
  }
}
