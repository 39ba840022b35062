package io.holdfast.conformance;

import static io.holdfast.device.Order.unordered;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.conformance.tap.Call;
import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.Completion;
import io.holdfast.device.DeviceAllocation;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.device.DeviceEvent;
import io.holdfast.device.DeviceStream;
import io.holdfast.error.BusyException;
import io.holdfast.host.Hold;
import io.holdfast.host.HostRegion;
import io.holdfast.host.HostRequest;
import io.holdfast.pin.HostBlocks;
import io.holdfast.pin.HostBlocks.Access;
import io.holdfast.pin.PinRequest;
import io.holdfast.pin.PinnedRegion;
import io.holdfast.pool.HostPool;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** How things come down. */
abstract class LifetimeRules extends Rules {
  LifetimeRules(Conformance kit) {
    super(kit);
  }

  @Test
  @Covers(Rule.CLS_02)
  final void cls02_a_hold_refuses_the_close_with_nothing_undone() {
    HostRegion region = backend.pageSource().map(HostRequest.ofBytes(1 << 20));
    PinnedRegion pinned = device.pinner().pin(region, PinRequest.strict());
    HostBlocks slots = pinned.blocks(SHAPE.layerMajor(4));
    try (Hold _ = region.hold("nic")) {
      Map<Long, Long> registered = tap.registered();
      BusyException refused = assertThrows(BusyException.class, region::close);

      assertTrue(String.valueOf(refused.getMessage()).contains("nic"), refused.getMessage());
      assertTrue(refused.holders().stream().anyMatch(one -> one.contains("nic")));
      assertEquals(region.mappedBytes(), pinned.registeredBytes());
      assertEquals(registered, tap.registered());
      slots.lease(0, Access.READ).close();
    }
    region.close();
    assertEquals(0, pinned.registeredBytes());
  }

  @Test
  @Covers(Rule.CLS_03)
  final void cls03_closing_the_device_closes_what_was_opened_from_it() {
    DeviceAllocation on = device.memory().allocate(4 * SHAPE.bytes());
    HostPool pool =
        HostPool.open(
            device,
            DeviceBlocks.of(on.segment(), SHAPE.blockMajor(4)),
            HostRequest.ofBytes(4 * SHAPE.bytes()));
    DeviceStream stream = device.newStream();
    DeviceEvent event = device.newEvent();
    Completion last = pool.store(BlockCopies.device(0).host(0), unordered());
    device.close();

    assertTrue(last.isDone());
    assertThrows(IllegalStateException.class, on::segment);
    assertThrows(
        IllegalStateException.class, () -> pool.store(BlockCopies.device(0).host(0), unordered()));
    assertThrows(IllegalStateException.class, device::newStream);
    assertThrows(IllegalStateException.class, () -> event.record(stream));
    pool.close();
    assertEquals(List.of(), backend.stillOpen());
    assertEquals(0, tap.held("stream"));
    assertEquals(0, tap.held("event"));
    assertEquals(0, tap.held("device memory"));
  }

  @Test
  @Covers(Rule.CLS_05)
  final void cls05_close_waits_for_copies_in_flight_before_it_unregisters() {
    DeviceAllocation on = device.memory().allocate(4 * SHAPE.bytes());
    HostPool pool =
        HostPool.open(
            device,
            DeviceBlocks.of(on.segment(), SHAPE.blockMajor(4)),
            HostRequest.ofBytes(4 * SHAPE.bytes()));
    pool.store(BlockCopies.device(0).host(0), unordered()).await();
    tap.forget();
    Thread closer;
    try (Held held = new Held()) {
      Completion flying = pool.store(BlockCopies.device(1).host(1), unordered());
      closer = Thread.ofPlatform().start(pool::close);
      until(
          () -> closer.getState() != Thread.State.RUNNABLE && closer.getState() != Thread.State.NEW,
          "the close neither waits nor ends");
      assertEquals(List.of(), tap.calls("DevicePort.unregister"), "unregistered under a copy");
      assertEquals(List.of(), tap.calls("HostKernel.unmap"), "unmapped under a copy");
      assertFalse(flying.isDone());
      held.release();
      join(closer);
      assertTrue(flying.isDone());
    }
    assertEquals(Map.of(), tap.registered());
    on.close();
  }

  @Test
  @Covers({Rule.CLS_06, Rule.ACC_02})
  final void cls06_things_come_down_newest_first() {
    DeviceAllocation on = device.memory().allocate(4 * SHAPE.bytes());
    HostPool pool =
        HostPool.open(
            device,
            DeviceBlocks.of(on.segment(), SHAPE.blockMajor(4)),
            HostRequest.ofBytes(4 * SHAPE.bytes()));
    pool.store(BlockCopies.device(0).host(0), unordered()).await();
    assertFalse(backend.stillOpen().isEmpty(), "nothing is named though a pool is open");
    tap.forget();
    backend.close();

    inOrder(tap.calls(), Call::name, "DevicePort.unregister", "HostKernel.unmap");
    inOrder(
        tap.calls(), Call::name, "DevicePort.free", "DevicePort.close", "AcceleratorDriver.close");
    inOrder(
        tap.calls(),
        Call::name,
        "DevicePort.destroyStream",
        "DevicePort.close",
        "AcceleratorDriver.close");
    long driver = tap.calls("AcceleratorDriver.close").getFirst().number();
    for (Call call : tap.calls()) {
      assertTrue(
          call.number() <= driver || !call.name().startsWith("DevicePort."),
          "the driver was called after it was closed: " + call);
    }
    assertEquals(List.of(), backend.stillOpen());
    backend.close();
    assertEquals(1, tap.count("AcceleratorDriver.close"), "the driver was closed twice");
  }
}
