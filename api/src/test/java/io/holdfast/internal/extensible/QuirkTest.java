package io.holdfast.internal.extensible;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.device.AddressesMovedException;
import io.holdfast.device.ExtensibleRegion;
import io.holdfast.device.ExtensibleRegion.Contents;
import io.holdfast.device.ExtensibleRegion.State;
import io.holdfast.device.ExtensibleRequest;
import io.holdfast.layout.BlockShape;
import io.holdfast.spi.Traits.Quirk;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What drivers declare is obeyed; the fake driver calls misuse what such a driver breaks on. */
final class QuirkTest {
  private static Rig hip() {
    Rig rig = new Rig();
    rig.port.quirks.addAll(List.of(Quirk.values()));
    rig.memory.accessNeedsWholePrefix = true;
    rig.memory.keepsUntilAddressesGo = true;
    return rig;
  }

  @Test
  void access_is_set_over_the_whole_prefix_where_a_grown_tail_fails() {
    try (Rig rig = hip()) {
      ExtensibleRegion region = rig.reserve(BlockShape.of(1, Rig.KIB64).layerMajor(160));
      region.commit(32);
      long base = region.plane(0).memory().rawAddress();
      rig.memory.forget();

      region.commit(96);

      assertTrue(
          rig.memory.calls.contains(new FakeMemory.Call("allowAccess", base, 3 * Rig.GRANULE)));
    }
  }

  /** B83: four chunks, memory returns with the addresses only, each mapping its own unmap. */
  @Test
  void b83_memory_really_returns_by_giving_the_same_addresses_up_and_taking_them_again() {
    try (Rig rig = hip()) {
      ExtensibleRegion region = rig.reserve(BlockShape.of(1, Rig.KIB64).layerMajor(160));
      for (int chunk = 1; chunk <= 4; chunk++) {
        region.commit(32L * chunk);
      }
      long base = region.plane(0).memory().rawAddress();
      long before = rig.memory.usedBytes();
      rig.memory.forget();

      region.releasePhysical(rig.now());

      assertEquals(8L << 20, before - rig.memory.usedBytes());
      assertEquals(base, region.plane(0).memory().rawAddress());
      assertEquals(4, rig.memory.names("unmap").size());
      assertEquals(1, rig.memory.names("reserveAt").size());
      region.recommit();
      assertEquals(base, region.plane(0).memory().rawAddress());
      assertTrue(rig.isZero(region, 0, 128));
    }
  }

  @Test
  void b83_addresses_that_moved_are_a_loud_error_and_waking_asks_for_them_again() {
    try (Rig rig = hip()) {
      ExtensibleRegion region = rig.reserve(Rig.TWO_PLANES);
      region.commit(40);
      List<Long> addresses = Rig.addresses(region);
      rig.memory.movesAddresses = true;

      AddressesMovedException moved =
          assertThrows(AddressesMovedException.class, () -> region.releasePhysical(rig.now()));

      assertTrue(addresses.contains(moved.wantedAddress()));
      assertFalse(addresses.contains(moved.givenAddress()));
      assertEquals(State.RELEASED, region.state());
      assertEquals(0, rig.memory.handles());
      assertThrows(AddressesMovedException.class, region::recommit);
      assertEquals(State.RELEASED, region.state());
      rig.memory.movesAddresses = false;
      region.recommit();
      assertEquals(addresses, Rig.addresses(region));
      assertTrue(rig.isZero(region, 0, 40));
    }
  }

  @Test
  void consolidating_and_shrinking_return_memory_too() {
    try (Rig rig = hip()) {
      ExtensibleRegion region = rig.reserve(Rig.TWO_PLANES);
      region.commit(1);
      region.commit(160);
      rig.write(region, 0, 160);
      List<Long> addresses = Rig.addresses(region);

      region.consolidate(Contents.KEEP, rig.now());
      assertEquals(10 * Rig.GRANULE, rig.memory.usedBytes());
      assertTrue(rig.isWritten(region, 0, 160));
      region.shrink(33, rig.now());

      assertEquals(4 * Rig.GRANULE, rig.memory.usedBytes());
      assertEquals(addresses, Rig.addresses(region));
      assertTrue(rig.isZero(region, 0, 33));
    }
  }

  @Test
  void discarding_on_a_full_device_returns_memory_before_it_takes_any() {
    try (Rig rig = hip()) {
      ExtensibleRegion region = rig.reserve(Rig.TWO_PLANES);
      region.commit(1);
      region.commit(64);
      rig.memory.totalBytes = rig.memory.usedBytes();

      region.consolidate(Contents.DISCARD, rig.now());

      assertEquals(List.of(1, 1), region.census().handlesPerSegment());
      assertTrue(rig.isZero(region, 0, 64));
    }
  }

  /** Imports, maps and access of several threads went wrong in one of two runs with eight. */
  @Test
  void one_call_at_a_time_over_all_devices_of_the_process() throws Exception {
    FakeMemory memory = new FakeMemory(); // two devices of one driver
    memory.oneCallAtATime = true;
    List<FakePort> ports = List.of(new FakePort(memory), new FakePort(memory));
    List<Thread> threads = new ArrayList<>();
    List<Throwable> failures = new ArrayList<>();
    for (FakePort port : ports) {
      port.quirks.add(Quirk.ONE_VMM_CALL_AT_A_TIME);
      for (int i = 0; i < 2; i++) {
        threads.add(
            Thread.ofPlatform()
                .start(
                    () -> {
                      try (var device = FakeDriver.open(port).backend().open(0);
                          ExtensibleRegion region = device.memory().reserve(Rig.TWO_PLANES)) {
                        for (int blocks = 1; blocks < 160; blocks += 32) {
                          region.commit(blocks);
                        }
                      } catch (Throwable failure) {
                        synchronized (failures) {
                          failures.add(failure);
                        }
                      }
                    }));
      }
    }
    for (Thread thread : threads) {
      thread.join();
    }

    assertEquals(List.of(), failures);
    assertEquals(List.of(), memory.violations);
    assertEquals(0, memory.handles());
  }

  @Test
  void a_driver_without_quirks_is_asked_for_the_tail_only_and_keeps_its_addresses() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(BlockShape.of(1, Rig.KIB64).layerMajor(160));
      region.commit(32);
      region.commit(96);
      region.releasePhysical(rig.now());

      assertEquals(List.of(), rig.memory.names("reserveAt"));
    }
  }

  @Test
  void a_finer_granule_is_rounded_up_to_2_mib() {
    try (Rig rig = hip()) {
      rig.memory.granuleBytes = 4096;
      ExtensibleRegion region = rig.reserve(BlockShape.of(1, 4096).layerMajor(1000));

      region.commit(1);

      assertEquals(Rig.GRANULE, rig.memory.usedBytes());
      assertEquals(
          Rig.GRANULE,
          rig.device
              .memory()
              .granuleBytes(ExtensibleRequest.of(BlockShape.of(1, 1).layerMajor(1))));
    }
  }
}
