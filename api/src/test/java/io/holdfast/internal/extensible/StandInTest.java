package io.holdfast.internal.extensible;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.device.Demand;
import io.holdfast.device.DeviceMemory;
import io.holdfast.device.ExtensibleRegion;
import io.holdfast.device.ExtensibleRegion.Contents;
import io.holdfast.device.ExtensibleRegion.State;
import io.holdfast.device.ExtensibleRequest;
import io.holdfast.device.HandleKind;
import io.holdfast.device.RegionChange;
import io.holdfast.device.Support;
import io.holdfast.error.DriverFault;
import io.holdfast.error.UnsupportedException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Whether it works at all, tried; and what stands in where it does not. */
final class StandInTest {
  private static final ExtensibleRequest PREFERRING =
      ExtensibleRequest.of(Rig.TWO_PLANES).virtualMemory(Demand.PREFER);

  @Test
  void support_is_tried_with_two_chunks_and_access_over_the_growing_prefix() {
    try (Rig rig = new Rig()) {
      assertEquals(new Support.Supported(), rig.device.memory().extensibleSupport());

      List<FakeMemory.Call> access =
          rig.memory.calls.stream().filter(call -> call.name().equals("allowAccess")).toList();
      assertEquals(2, access.size());
      assertEquals(access.get(0).address(), access.get(1).address());
      assertEquals(2 * access.get(0).bytes(), access.get(1).bytes());
      rig.assertNothingLeft();
    }
  }

  @Test
  void every_refusal_of_the_trial_is_a_reason_and_leaves_nothing() {
    int calls;
    try (Rig rig = new Rig()) {
      var _ = rig.device.memory().extensibleSupport();
      calls = rig.memory.calls.size();
    }
    assertTrue(calls > 12, "only " + calls + " calls");
    for (int call = 0; call < calls; call++) {
      try (Rig rig = new Rig()) {
        rig.memory.fail(call, 1, DriverFault.NOT_SUPPORTED);

        Support support = rig.device.memory().extensibleSupport();

        if (!rig.memory.names("unmap").isEmpty() && support instanceof Support.Supported) {
          continue; // giving back was refused once and done at the second offer
        }
        Support.Unsupported no = assertInstanceOf(Support.Unsupported.class, support);
        assertTrue(no.reason().contains("injected"), no.reason());
      }
    }
  }

  @Test
  void a_driver_that_reserves_without_naming_an_address_is_no_support() {
    try (Rig rig = new Rig()) {
      rig.memory.reservesNothing = true;

      assertInstanceOf(Support.Unsupported.class, rig.device.memory().extensibleSupport());
      assertThrows(UnsupportedException.class, () -> rig.reserve(Rig.TWO_PLANES));
    }
  }

  @Test
  void required_virtual_memory_that_is_not_there_is_refused() {
    try (Rig rig = new Rig()) {
      rig.port.hasVirtualMemory = false;

      assertThrows(UnsupportedException.class, () -> rig.reserve(Rig.TWO_PLANES));
      assertThrows(
          UnsupportedException.class,
          () -> rig.device.memory().granuleBytes(ExtensibleRequest.of(Rig.TWO_PLANES)));
      Support.Unsupported no =
          assertInstanceOf(Support.Unsupported.class, rig.device.memory().extensibleSupport());
      assertTrue(no.remedy().contains("WSL2"), no.remedy());
    }
  }

  @Test
  void preferred_virtual_memory_that_works_is_taken() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(PREFERRING);

      assertEquals(0, rig.memory.usedBytes());
      assertEquals(List.of(), region.census().notes());
    }
  }

  @Test
  void an_ordinary_allocation_of_full_size_stands_in_and_says_so() {
    try (Rig rig = new Rig()) {
      rig.port.hasVirtualMemory = false;

      ExtensibleRegion region = rig.reserve(PREFERRING);

      assertEquals(2 * 160 * Rig.KIB64, rig.memory.usedBytes());
      assertEquals(1, region.census().notes().size());
      assertTrue(region.census().notes().getFirst().contains("ordinary allocation"));
      assertEquals(List.of(0, 0), region.census().handlesPerSegment());
      assertEquals(State.RESERVED, region.state());
    }
  }

  @Test
  void a_stand_in_commits_shrinks_and_seals_like_pages_do() {
    try (Rig rig = new Rig()) {
      rig.port.hasVirtualMemory = false;
      ExtensibleRegion region = rig.reserve(PREFERRING);
      List<Long> addresses = Rig.addresses(region);
      region.commit(2);
      rig.write(region, 0, 2);
      region.commit(8);
      assertTrue(rig.isWritten(region, 0, 2));
      assertTrue(rig.isZero(region, 2, 8));
      region.consolidate(Contents.DISCARD, rig.now());
      assertTrue(rig.isWritten(region, 0, 2));
      region.shrink(4, rig.now());
      assertTrue(rig.isZero(region, 0, 4));
      assertEquals(1, region.epoch());
      region.seal(160, rig.now());

      assertEquals(160, region.count());
      assertEquals(addresses, Rig.addresses(region));
      assertEquals(160 * Rig.KIB64, region.plane(1).memory().byteSize());
    }
  }

  @Test
  void a_stand_in_gives_no_memory_back_and_no_handles_and_says_so() {
    try (Rig rig = new Rig()) {
      rig.port.hasVirtualMemory = false;
      ExtensibleRegion region = rig.reserve(PREFERRING.shareable(Demand.PREFER));
      region.seal(3, rig.now());
      List<RegionChange> told = new ArrayList<>();
      region.beforeChange(told::add);

      assertThrows(UnsupportedException.class, () -> region.releasePhysical(rig.now()));
      assertEquals(List.of(), told, "of a change that is refused nobody is told");
      assertThrows(UnsupportedException.class, () -> region.export(HandleKind.POSIX_FD));
      assertThrows(
          UnsupportedException.class, () -> rig.reserve(PREFERRING.shareable(Demand.REQUIRE)));
      assertEquals(State.SEALED, region.state());
    }
  }

  @Test
  void a_stand_in_can_be_asked_for_by_name() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(PREFERRING.virtualMemory(Demand.OFF));

      assertEquals(List.of("allocate"), rig.memory.names("allocate"));
      assertEquals(List.of(), rig.memory.names("reserve"));
      assertTrue(region.census().notes().getFirst().contains("not asked for"));
    }
  }

  @Test
  void support_of_a_closed_device_is_refused() {
    try (Rig rig = new Rig()) {
      DeviceMemory memory = rig.device.memory();
      rig.device.close();

      assertThrows(IllegalStateException.class, memory::extensibleSupport);
    }
  }
}
