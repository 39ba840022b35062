package io.holdfast.conformance;

import static io.holdfast.device.Order.after;
import static io.holdfast.device.Order.unordered;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.copy.BlockCopies;
import io.holdfast.device.Capability;
import io.holdfast.device.CommittedExtent;
import io.holdfast.device.Demand;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.device.DeviceSegment;
import io.holdfast.device.DeviceStream;
import io.holdfast.device.ExtensibleRegion;
import io.holdfast.device.ExtensibleRegion.Contents;
import io.holdfast.device.ExtensibleRegion.State;
import io.holdfast.device.ExtensibleRequest;
import io.holdfast.device.Order;
import io.holdfast.device.StaleException;
import io.holdfast.device.Subscription;
import io.holdfast.device.Support;
import io.holdfast.error.DriverException;
import io.holdfast.error.DriverFault;
import io.holdfast.error.UnsupportedException;
import io.holdfast.host.HostRequest;
import io.holdfast.layout.BlockShape;
import io.holdfast.pin.HostBlocks.Access;
import io.holdfast.pin.SlotLease;
import io.holdfast.pool.HostPool;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;

/** Device memory that grows in place. */
abstract class ExtensibleRules extends Rules {
  private static final BlockShape BLOCK = BlockShape.of(2, 1 << 20);
  private static final long CAPACITY = 16;

  ExtensibleRules(Conformance kit) {
    super(kit);
  }

  /** A region with its host slots and a stream that names the last use. */
  private final class Bench implements AutoCloseable {
    final DeviceStream stream = device.newStream();
    final ExtensibleRegion region = device.memory().reserve(BLOCK.layerMajor(CAPACITY));

    HostPool pool(long slots) {
      return HostPool.open(device, region, HostRequest.ofBytes(slots * BLOCK.bytes()));
    }

    Order.After lastUse() {
      return after(stream);
    }

    @Override
    public void close() {
      region.close();
      stream.close();
    }
  }

  /** What is not claimed: reserving is refused, and an ordinary allocation stands in if it may. */
  private boolean claimed() {
    if (claims(Capability.VIRTUAL_MEMORY)
        && device.memory().extensibleSupport() instanceof Support.Supported) {
      return true;
    }
    refused(Capability.VIRTUAL_MEMORY, () -> device.memory().reserve(BLOCK.layerMajor(4)).close());
    ExtensibleRequest anyhow =
        ExtensibleRequest.of(BLOCK.layerMajor(4)).virtualMemory(Demand.PREFER);
    try (ExtensibleRegion standIn = device.memory().reserve(anyhow)) {
      standIn.commit(2);
      assertFalse(standIn.census().notes().isEmpty(), "a fallback that nobody is told of");
    }
    return false;
  }

  private int physical() {
    return tap.held("physical memory");
  }

  @Test
  @Covers({Rule.VMM_01, Rule.VMM_13})
  final void vmm01_reserving_takes_addresses_and_no_memory() {
    assertEquals(
        device.memory().extensibleSupport() instanceof Support.Supported,
        works(() -> device.memory().reserve(BLOCK.layerMajor(4)).close()),
        "support and reserving disagree");
    if (!claimed()) {
      return;
    }
    int before = physical();
    try (Bench bench = new Bench()) {
      assertEquals(State.RESERVED, bench.region.state());
      assertEquals(before, physical(), "reserving took memory");
      assertEquals(0, bench.region.count());
      assertEquals(new CommittedExtent(0, 0, 0), bench.region.committed());
      assertEquals(0, bench.region.epoch());
      assertEquals(0, bench.region.plane(0).memory().byteSize());
    }
    assertEquals(0, tap.held("addresses"));
  }

  private static boolean works(Runnable body) {
    try {
      body.run();
      return true;
    } catch (UnsupportedException no) {
      return false;
    }
  }

  @Test
  @Covers({Rule.VMM_02, Rule.VMM_09})
  final void vmm02_growing_keeps_address_and_contents_and_new_blocks_are_zero() {
    if (!claimed()) {
      return;
    }
    try (Bench bench = new Bench()) {
      bench.region.commit(2);
      long first = bench.region.plane(0).memory().rawAddress();
      long second = bench.region.plane(1).memory().rawAddress();
      try (HostPool pool = bench.pool(8)) {
        write(pool, 0, 5);
        write(pool, 7, 6);
        pool.load(BlockCopies.device(1).host(0), unordered()).await();
        assertThrows(
            IndexOutOfBoundsException.class,
            () -> pool.load(BlockCopies.device(2).host(0), unordered()));
        CommittedExtent grown = bench.region.commit(5);
        assertEquals(5, grown.blocks());
        assertEquals(5, bench.region.count());
        assertEquals(first, bench.region.plane(0).memory().rawAddress());
        assertEquals(second, bench.region.plane(1).memory().rawAddress());
        assertEquals(0, bench.region.epoch(), "growth exchanges nothing");
        pool.store(BlockCopies.device(1, 4).host(6, 7), unordered()).await();
        check(pool, 6, 5);
        zero(pool, 7);
        assertEquals(grown, bench.region.commit(3), "fewer than are committed is a no-op");
      }
    }
  }

  private static void zero(HostPool pool, long slot) {
    try (SlotLease lease = pool.lease(slot, Access.READ)) {
      for (int part = 0; part < pool.shape().parts(); part++) {
        assertEquals(-1, firstNonZero(lease.part(part)), "part " + part + " is not zeroed");
      }
    }
  }

  @Test
  @Covers(Rule.VMM_03)
  final void vmm03_shrinking_raises_the_epoch_and_its_views_are_stale() {
    if (!claimed()) {
      return;
    }
    try (Bench bench = new Bench()) {
      bench.region.commit(8);
      DeviceBlocks old = bench.region.first(2);
      DeviceSegment view = bench.region.plane(0).memory();
      long bytes = view.byteSize();
      assertEquals(3, bench.region.shrink(3, bench.lastUse()).blocks());
      assertEquals(1, bench.region.epoch());
      assertThrows(StaleException.class, () -> old.plane(0).memory().rawAddress());
      assertTrue(bench.region.plane(0).memory().byteSize() < bytes);
      assertThrows(
          IndexOutOfBoundsException.class,
          () -> bench.region.plane(0).memory().slice(bytes - 1, 1));
      try (HostPool pool = bench.pool(4)) {
        write(pool, 0, 1);
        pool.store(BlockCopies.device(2).host(0), unordered()).await();
        zero(pool, 0);
      }
    }
  }

  @Test
  @Covers(Rule.VMM_04)
  final void vmm04_physical_bytes_are_whole_granules_under_every_segment() {
    if (!claimed()) {
      return;
    }
    long granule = device.memory().granuleBytes(ExtensibleRequest.of(BLOCK.layerMajor(CAPACITY)));
    limit("granule", granule);
    assertTrue(granule > 0);
    try (Bench bench = new Bench()) {
      for (long blocks = 1; blocks <= CAPACITY; blocks += 4) {
        CommittedExtent there = bench.region.commit(blocks);
        assertEquals(blocks * BLOCK.bytes(), there.logicalBytes());
        long each = Math.ceilDiv(blocks << 20, granule) * granule;
        assertEquals(2 * each, there.physicalBytes());
        assertEquals(there.physicalBytes(), bench.region.census().physicalBytes());
        assertEquals(blocks << 20, bench.region.plane(1).memory().byteSize());
      }
    }
  }

  @Test
  @Covers(Rule.VMM_05)
  final void vmm05_sealing_fixes_the_size() {
    if (!claimed()) {
      return;
    }
    try (Bench bench = new Bench()) {
      bench.region.commit(2);
      assertFalse(bench.region.whenFinal().isDone());
      bench.region.seal(4, bench.lastUse());
      assertEquals(State.SEALED, bench.region.state());
      assertEquals(4, bench.region.whenFinal().join().blocks());
      assertThrows(IllegalStateException.class, () -> bench.region.commit(5));
      assertThrows(IllegalStateException.class, () -> bench.region.shrink(1, bench.lastUse()));
      assertThrows(IllegalStateException.class, () -> bench.region.seal(5, bench.lastUse()));
      assertEquals(4, bench.region.count());
    }
  }

  @Test
  @Covers(Rule.VMM_06)
  final void vmm06_sleep_gives_memory_back_and_keeps_the_address() {
    if (!claimed()) {
      return;
    }
    try (Bench bench = new Bench()) {
      bench.region.commit(4);
      long address = bench.region.plane(0).memory().rawAddress();
      try (HostPool pool = bench.pool(4)) {
        write(pool, 0, 3);
        pool.load(BlockCopies.device(3).host(0), unordered()).await();
        assertTrue(physical() > 0);
        bench.region.releasePhysical(bench.lastUse());
        assertEquals(0, physical(), "memory was kept");
        assertEquals(State.RELEASED, bench.region.state());
        assertEquals(1, bench.region.epoch());
        assertThrows(
            RuntimeException.class, () -> pool.store(BlockCopies.device(0).host(1), unordered()));
        bench.region.recommit();
        assertEquals(4, bench.region.count());
        assertEquals(address, bench.region.plane(0).memory().rawAddress());
        pool.store(BlockCopies.device(3).host(2), unordered()).await();
        zero(pool, 2);
      }
    }
  }

  @Test
  @Covers(Rule.VMM_07)
  final void vmm07_a_consolidated_region_has_one_allocation_for_each_segment() {
    if (!claimed()) {
      return;
    }
    long granule = device.memory().granuleBytes(ExtensibleRequest.of(BLOCK.layerMajor(CAPACITY)));
    long step = Math.max(1, granule >> 20);
    if (3 * step > CAPACITY) {
      throw missing("granules below " + CAPACITY + " MiB; this driver's is " + granule);
    }
    try (Bench bench = new Bench()) {
      for (int i = 1; i <= 3; i++) {
        bench.region.commit(i * step);
      }
      long address = bench.region.plane(1).memory().rawAddress();
      try (HostPool pool = bench.pool(4)) {
        write(pool, 0, 77);
        pool.load(BlockCopies.device(2).host(0), unordered()).await();
        bench.region.consolidate(Contents.KEEP, bench.lastUse());
        assertEquals(List.of(1, 1), bench.region.census().handlesPerSegment());
        assertEquals(address, bench.region.plane(1).memory().rawAddress());
        assertEquals(2, physical());
        pool.store(BlockCopies.device(2).host(3), unordered()).await();
        check(pool, 3, 77);
      }
    }
  }

  @Test
  @Covers(Rule.VMM_08)
  final void vmm08_who_listens_is_told_before_pages_go_and_can_stop_it() {
    if (!claimed()) {
      return;
    }
    try (Bench bench = new Bench()) {
      bench.region.commit(4);
      List<String> told = new CopyOnWriteArrayList<>();
      Subscription listening =
          bench.region.beforeChange(change -> told.add(change.kind() + " " + bench.region.count()));
      bench.region.shrink(2, bench.lastUse());
      bench.region.commit(3);
      listening.close();
      bench.region.commit(4);
      assertEquals(2, told.size(), told.toString());
      assertTrue(told.getFirst().matches("(RELEASE|EXCHANGE) 4"), told.toString());
      assertEquals("GROW 2", told.getLast());
      try (Subscription _ =
          bench.region.beforeChange(
              change -> {
                throw new IllegalStateException("not now");
              })) {
        assertThrows(IllegalStateException.class, () -> bench.region.shrink(1, bench.lastUse()));
        assertEquals(4, bench.region.count());
        assertThrows(IllegalStateException.class, () -> bench.region.commit(6));
        assertEquals(4, bench.region.count());
      }
      assertEquals(6, bench.region.commit(6).blocks());
    }
  }

  @Test
  @Covers(Rule.VMM_10)
  final void vmm10_more_than_the_capacity_is_refused() {
    if (!claimed()) {
      return;
    }
    try (Bench bench = new Bench()) {
      CommittedExtent there = bench.region.commit(3);
      int held = physical();
      assertThrows(RuntimeException.class, () -> bench.region.commit(CAPACITY + 1));
      assertThrows(RuntimeException.class, () -> bench.region.commit(0));
      assertThrows(RuntimeException.class, () -> bench.region.commit(-1));
      assertEquals(there, bench.region.committed());
      assertEquals(held, physical());
    }
  }

  @Test
  @Covers({Rule.VMM_11, Rule.CLS_08})
  final void vmm11_closing_gives_pages_handles_and_addresses_back() {
    if (!claimed()) {
      return;
    }
    Bench bench = new Bench();
    bench.region.commit(3);
    bench.region.commit(9);
    bench.region.shrink(5, bench.lastUse());
    DeviceSegment view = bench.region.plane(0).memory();
    bench.close();
    bench.region.close();
    assertEquals(State.CLOSED, bench.region.state());
    assertEquals(0, physical());
    assertEquals(0, tap.held("mapping"));
    assertEquals(0, tap.held("addresses"));
    assertThrows(IllegalStateException.class, view::rawAddress);
    assertThrows(RuntimeException.class, () -> bench.region.commit(1));
    assertThrows(RuntimeException.class, () -> bench.region.whenFinal().join());
  }

  @Test
  @Covers(Rule.VMM_12)
  final void vmm12_a_commit_of_which_one_call_fails_changes_nothing() {
    if (!claimed()) {
      return;
    }
    try (Bench bench = new Bench()) {
      CommittedExtent there = bench.region.commit(2);
      try (HostPool pool = bench.pool(4)) {
        write(pool, 0, 31);
        pool.load(BlockCopies.device(1).host(0), unordered()).await();
        int handles = physical();
        int mappings = tap.held("mapping");
        int refusals = 0;
        for (String call :
            List.of(
                "VirtualMemoryPort.create",
                "VirtualMemoryPort.map",
                "VirtualMemoryPort.allowAccess",
                "DevicePort.fill")) {
          for (int nth = 1; nth <= 2; nth++) {
            tap.refuse(call, nth, refusal(DriverFault.OUT_OF_MEMORY));
            boolean refused = false;
            try {
              bench.region.commit(12);
            } catch (DriverException told) {
              refused = true;
              assertEquals(9_999, told.code());
            }
            tap.untwist();
            if (refused) {
              refusals++;
              assertEquals(there, bench.region.committed(), call + " " + nth);
              assertEquals(handles, physical(), call + " " + nth + " left memory behind");
              assertEquals(mappings, tap.held("mapping"), call + " " + nth);
            } else {
              bench.region.shrink(2, bench.lastUse());
              handles = physical();
              mappings = tap.held("mapping");
              pool.load(BlockCopies.device(1).host(0), unordered()).await();
            }
          }
        }
        assertTrue(refusals >= 6, "hardly a call was refused: " + refusals);
        pool.store(BlockCopies.device(1).host(3), unordered()).await();
        check(pool, 3, 31);
        assertEquals(12, bench.region.commit(12).blocks());
      }
    }
  }
}
