package io.holdfast.conformance.vm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.Backend;
import io.holdfast.device.DeviceInfo;
import io.holdfast.error.UnsupportedException;
import io.holdfast.host.HostRegion;
import io.holdfast.host.HostRequest;
import io.holdfast.host.NumaPolicy;
import java.util.Map;
import java.util.OptionalInt;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The node of a device, and a node without CPUs, which nobody gets by accident. */
final class GuestNearest {
  private static final long BYTES = 8 * Guest.MIB;

  private final Backend backend = Guest.backend();

  @AfterEach
  void close() {
    backend.close();
  }

  private HostRegion map(NumaPolicy policy) {
    return backend.pageSource().map(HostRequest.ofBytes(BYTES).numa(policy));
  }

  @Test
  void a_devices_node_is_what_its_pci_slot_says() throws Exception {
    DeviceInfo far = backend.devices().getFirst();
    assertEquals(OptionalInt.of(1), far.numaNode());

    Guest.onCpu(
        0,
        () -> {
          try (HostRegion region = map(NumaPolicy.nearest(far))) {
            assertEquals(Map.of(1, BYTES), KernelsWord.of(region.segment()).bytesPerNode());
            assertEquals("bind:1", KernelsWord.of(region.segment()).policy());
          }
          return null;
        });
  }

  @Test
  void a_devices_own_memory_is_not_near_it_but_the_closest_node_with_cpus_is() throws Exception {
    Guest.onCpu(
        0,
        () -> {
          try (HostRegion region = map(NumaPolicy.nearest(backend.devices().get(1)))) {
            assertEquals(Map.of(1, BYTES), KernelsWord.of(region.segment()).bytesPerNode());
            assertTrue(
                region
                    .receipt()
                    .notes()
                    .contains("node 1 is the nearest with CPUs to node 2 of device 1"),
                () -> region.receipt().toString());
          }
          return null;
        });
  }

  @Test
  void a_device_whose_slot_says_minus_one_binds_nothing() {
    DeviceInfo unknown = backend.devices().get(2);
    assertEquals(OptionalInt.empty(), unknown.numaNode());

    try (HostRegion region = map(NumaPolicy.nearest(unknown))) {
      assertEquals("default", KernelsWord.of(region.segment()).policy());
      assertTrue(
          region
              .receipt()
              .notes()
              .contains("the node of device 2 is not known, so nothing is bound"),
          () -> region.receipt().toString());
    }
  }

  @Test
  void a_node_without_cpus_is_had_by_its_number_only() {
    try (HostRegion region = map(NumaPolicy.bind(2))) {
      assertEquals(Map.of(2, BYTES), KernelsWord.of(region.segment()).bytesPerNode());
      assertEquals(Map.of(2, BYTES), region.receipt().bytesPerNode());
      assertTrue(
          region.receipt().notes().contains("node 2 has no CPUs; it was asked for by number"),
          () -> region.receipt().toString());
    }
  }

  @Test
  void a_node_that_is_not_there_is_refused_by_its_number() {
    UnsupportedException absent =
        assertThrows(UnsupportedException.class, () -> map(NumaPolicy.bind(1, 3)));

    assertTrue(
        String.valueOf(absent.getMessage()).contains("node 3")
            && String.valueOf(absent.getMessage()).contains("nodes 0-2"),
        absent::toString);
  }
}
