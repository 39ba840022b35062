package io.holdfast.conformance;

import static io.holdfast.device.Order.unordered;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.Device;
import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.Completion;
import io.holdfast.copy.CopyOptions;
import io.holdfast.copy.CopyPath;
import io.holdfast.copy.CopyRoute;
import io.holdfast.device.Capabilities;
import io.holdfast.device.Capability;
import io.holdfast.device.DeviceAllocation;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.device.DeviceInfo;
import io.holdfast.device.DeviceSegment;
import io.holdfast.device.HandleKind;
import io.holdfast.device.MemoryInfo;
import io.holdfast.error.Category;
import io.holdfast.error.DriverException;
import io.holdfast.error.DriverFault;
import io.holdfast.error.UnsupportedException;
import io.holdfast.host.HostRegion;
import io.holdfast.host.HostRequest;
import io.holdfast.host.PageKind;
import io.holdfast.pin.HostBlocks;
import io.holdfast.pin.PinRequest;
import io.holdfast.pin.PinnedRegion;
import io.holdfast.pool.HostPool;
import io.holdfast.pool.PoolOptions;
import io.holdfast.spi.BatchCopyPort;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.Traits;
import io.holdfast.spi.VirtualMemoryPort;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** Devices, their memory, what they claim. */
abstract class DeviceRules extends Rules {
  DeviceRules(Conformance kit) {
    super(kit);
  }

  @Test
  @Covers(Rule.DEV_01)
  final void dev01_memory_the_driver_does_not_know_cannot_be_wrapped() {
    try (DeviceAllocation on = device.memory().allocate(1 << 20)) {
      long address = on.segment().rawAddress();
      assertEquals(4096, device.wrapMemory(address + 8192, 4096).byteSize());
      assertThrows(
          IllegalArgumentException.class, () -> device.wrapMemory(address, (64L << 20) + 1));
      assertThrows(IllegalArgumentException.class, () -> device.wrapMemory(address, 0));
    }
    assertThrows(IllegalArgumentException.class, () -> device.wrapMemory(4096, 4096));
  }

  @Test
  @Covers(Rule.DEV_02)
  final void dev02_devices_are_counted_from_0_and_no_other_can_be_opened() {
    List<DeviceInfo> devices = backend.devices();
    assertFalse(devices.isEmpty());
    for (int i = 0; i < devices.size(); i++) {
      DeviceInfo one = devices.get(i);
      assertEquals(i, one.ordinal());
      assertFalse(one.name().isBlank());
      assertTrue(one.totalBytes() > 0, one.toString());
      assertEquals(one.pciAddress().toLowerCase(Locale.ROOT), one.pciAddress());
    }
    limit("devices", devices.size());
    assertEquals(devices.getFirst(), device.info());
    assertThrows(IndexOutOfBoundsException.class, () -> backend.open(devices.size()));
    assertThrows(IndexOutOfBoundsException.class, () -> backend.open(-1));
    assertFalse(backend.version().isBlank());
  }

  @Test
  @Covers(Rule.DEV_03)
  final void dev03_a_device_can_be_opened_twice() {
    DeviceAllocation on = device.memory().allocate(4096);
    try (Device again = backend.open(0);
        DeviceAllocation other = again.memory().allocate(4096)) {
      assertTrue(other.segment().rawAddress() != on.segment().rawAddress());
      assertEquals(device.info(), again.info());
    }
    assertEquals(4096, on.segment().byteSize());
    withPool(2, 2, pool -> pool.store(BlockCopies.device(1).host(0), unordered()).await());
    on.close();
  }

  @Test
  @Covers(Rule.DEV_04)
  final void dev04_more_device_memory_than_there_is_is_refused_and_nothing_is_lost() {
    long tooMuch = device.info().totalBytes() + (1L << 40);
    DriverException refused =
        assertThrows(DriverException.class, () -> device.memory().allocate(tooMuch));
    assertEquals(DriverFault.OUT_OF_MEMORY, refused.fault(), refused.getMessage());
    assertThrows(IllegalArgumentException.class, () -> device.memory().allocate(0));
    assertThrows(IllegalArgumentException.class, () -> device.memory().allocate(-1));
    assertEquals(0, tap.held("device memory"));
    try (DeviceAllocation on = device.memory().allocate(1 << 20)) {
      assertEquals(1 << 20, on.segment().byteSize());
    }
  }

  @Test
  @Covers(Rule.DEV_05)
  final void dev05_a_device_segment_keeps_its_bounds() {
    DeviceAllocation on = device.memory().allocate(10_000);
    DeviceSegment all = on.segment();
    assertEquals(10_000, all.byteSize());
    DeviceSegment part = all.slice(100, 50);
    assertEquals(all.rawAddress() + 100, part.rawAddress());
    assertEquals(50, part.byteSize());
    assertThrows(IndexOutOfBoundsException.class, () -> all.slice(0, 10_001));
    assertThrows(IndexOutOfBoundsException.class, () -> all.slice(-1, 1));
    assertThrows(IndexOutOfBoundsException.class, () -> part.slice(50, 1));
    assertThrows(IllegalArgumentException.class, () -> DeviceBlocks.of(all, SHAPE.blockMajor(2)));
    on.close();
    on.close();
    assertThrows(IllegalStateException.class, all::rawAddress);
    assertThrows(IllegalStateException.class, () -> part.slice(0, 1));
  }

  @Test
  @Covers(Rule.DEV_06)
  final void dev06_what_is_pinned_once_serves_every_open_device() {
    int last = backend.devices().size() - 1;
    try (Device other = backend.open(last);
        HostRegion region = backend.pageSource().map(HostRequest.ofBytes(1 << 20));
        DeviceAllocation on = other.memory().allocate(4 * SHAPE.bytes())) {
      tap.forget();
      try (PinnedRegion pinned = device.pinner().pin(region, PinRequest.strict())) {
        int asked = tap.count("DevicePort.register");
        HostBlocks slots = pinned.blocks(SHAPE.blockMajor(8));
        DeviceBlocks blocks = DeviceBlocks.of(on.segment(), SHAPE.blockMajor(4));
        try (CopyRoute route = other.copyEngine().route(blocks, slots)) {
          write(slots, 0, 3);
          route.load(BlockCopies.device(2).host(0), unordered()).await();
          route.store(BlockCopies.device(2).host(5), unordered()).await();
          check(slots, 5, 3);
        }
        assertEquals(asked, tap.count("DevicePort.register"), "it was pinned again");
      }
    }
  }

  @Test
  @Covers(Rule.DEV_07)
  final void dev07_free_memory_is_never_more_than_all() {
    MemoryInfo before = device.memory().info();
    assertTrue(before.freeBytes() >= 0 && before.freeBytes() <= before.totalBytes());
    assertTrue(before.totalBytes() <= device.info().totalBytes() + (1L << 30), before.toString());
    long much = Math.min(256L << 20, before.freeBytes() / 4);
    try (DeviceAllocation _ = device.memory().allocate(much)) {
      MemoryInfo now = device.memory().info();
      // others use the device, too: what they give back meanwhile can hide ours, but not its total
      assertTrue(now.freeBytes() <= now.totalBytes() - much, now.toString());
    }
  }

  // ---- claims

  @Test
  @Covers({Rule.CAP_01, Rule.CAP_02})
  final void cap01_a_capability_is_claimed_exactly_where_the_driver_has_the_code() {
    Capabilities claimed = device.capabilities();
    DevicePort port = tap.port();
    assertEquals(port.batchCopies().isPresent(), claimed.has(Capability.BATCH_COPY));
    assertEquals(port.kernelCopies().isPresent(), claimed.has(Capability.KERNEL_COPY));
    assertEquals(port.pitchedCopies().isPresent(), claimed.has(Capability.PITCHED_COPY));
    assertEquals(port.hostAllocations().isPresent(), claimed.has(Capability.DRIVER_HOST_MEMORY));
    assertEquals(port.virtualMemory().isPresent(), claimed.has(Capability.VIRTUAL_MEMORY));
    Optional<VirtualMemoryPort> vmm = port.virtualMemory();
    assertEquals(
        vmm.map(one -> one.exportableKinds().contains(HandleKind.POSIX_FD)).orElse(false),
        claimed.has(Capability.EXPORT_POSIX_FD));
    assertTrue(
        !claimed.has(Capability.EXPORT_FABRIC)
            || vmm.flatMap(VirtualMemoryPort::fabric).isPresent(),
        "handles across hosts are claimed without the code");
    assertTrue(
        !claimed.has(Capability.EXPORT_DMA_BUF)
            || vmm.flatMap(VirtualMemoryPort::dmaBuf).isPresent(),
        "dma-buf is claimed without the code");
    int rows = port.batchCopies().map(BatchCopyPort::maxRows).orElse(0);
    assertEquals(rows, claimed.maxBatchEntries());
    assertTrue(claimed.maxRegistrationBytes() > 0);
    limit("maxBatchEntries", rows);
    limit("maxRegistrationBytes", claimed.maxRegistrationBytes());
    limit("capabilities", new TreeSet<>(claimed.present()));
    Traits traits = port.traits(tap.kernel().basePageBytes());
    limit("pinModel", traits.pinModel());
    limit("quirks", new TreeSet<>(traits.quirks()));
  }

  @Test
  @Covers({Rule.CAP_03, Rule.CAP_05})
  final void cap03_a_path_that_is_not_claimed_is_refused_and_one_that_is_works() {
    withPool(
        8,
        16,
        pool -> {
          for (CopyPath path : CopyPath.values()) {
            PoolOptions fixed = PoolOptions.defaults().copy(CopyOptions.auto().path(path));
            boolean claimed =
                switch (path) {
                  case LOOP -> true;
                  case BATCH -> claims(Capability.BATCH_COPY);
                  case KERNEL -> claims(Capability.KERNEL_COPY);
                  case PITCHED -> claims(Capability.PITCHED_COPY);
                };
            if (claimed) {
              withPool(SHAPE, 8, 16, fixed, other -> roundTrip(other, path));
            } else {
              Map<Long, Long> registered = tap.registered();
              UnsupportedException refused =
                  assertThrows(
                      UnsupportedException.class,
                      () -> withPool(SHAPE, 8, 16, fixed, other -> roundTrip(other, path)));
              assertFalse(refused.capability().isBlank());
              assertEquals(Category.UNSUPPORTED, refused.category());
              assertEquals(registered, tap.registered());
            }
          }
        });
  }

  private static void roundTrip(HostPool pool, CopyPath path) {
    for (int i = 0; i < 4; i++) {
      write(pool, 2L * i, 60 + i);
    }
    pool.load(BlockCopies.device(0, 2, 4, 6).host(0, 2, 4, 6), unordered()).await();
    Completion stored = pool.store(BlockCopies.device(0, 2, 4, 6).host(8, 10, 12, 14), unordered());
    stored.await();
    for (int i = 0; i < 4; i++) {
      check(pool, 8 + 2L * i, 60 + i);
    }
    assertTrue(
        stored.report().path() == path || path == CopyPath.PITCHED, // only where rows are regular
        () -> path + " was asked for and " + stored.report().path() + " was taken");
  }

  @Test
  @Covers({Rule.CAP_05, Rule.CAP_03})
  final void cap05_driver_memory_works_where_it_is_claimed() {
    HostRequest request = HostRequest.ofBytes(100_000).pages(PageKind.driver());
    if (!claims(Capability.DRIVER_HOST_MEMORY)) {
      refused(Capability.DRIVER_HOST_MEMORY, () -> backend.pageSource().map(request).close());
      return;
    }
    try (HostRegion region = backend.pageSource().map(request);
        DeviceAllocation on = device.memory().allocate(4 * SHAPE.bytes());
        PinnedRegion pinned = device.pinner().pin(region, PinRequest.strict())) {
      assertEquals(100_000, region.segment().byteSize());
      HostBlocks slots = pinned.blocks(SHAPE.blockMajor(8));
      try (CopyRoute route =
          device.copyEngine().route(DeviceBlocks.of(on.segment(), SHAPE.blockMajor(4)), slots)) {
        write(slots, 0, 21);
        route.load(BlockCopies.device(3).host(0), unordered()).await();
        route.store(BlockCopies.device(3).host(7), unordered()).await();
        check(slots, 7, 21);
      }
      assertEquals(0, tap.registered().size(), "memory that the driver pinned was pinned again");
    }
  }
}
