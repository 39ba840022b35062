package io.holdfast.backend.cpusim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.holdfast.Backend;
import io.holdfast.BackendUnavailableException;
import io.holdfast.Backends;
import io.holdfast.Device;
import io.holdfast.device.DeviceAllocation;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.error.HoldfastException;
import io.holdfast.error.SettingException;
import io.holdfast.host.HostRequest;
import io.holdfast.layout.BlockShape;
import io.holdfast.pool.HostPool;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * A system property that cannot be understood ends what it speaks of, by name, with nothing left.
 */
final class SettingsTest {
  @ParameterizedTest
  @CsvSource({
    "holdfast.event.native.threshold.nanos, soon",
    "holdfast.populate.threads, 0",
    "holdfast.populate.threads, many",
    "holdfast.copy.firstRows, x",
    "holdfast.cache, /etc/passwd",
    "holdfast.pin.budget, 1GiB",
    "holdfast.pin.ledger, /nowhere",
  })
  void nonsense_is_told(String property, String value) {
    refused(property, value, "cpu-sim");
  }

  @ParameterizedTest
  @CsvSource({"holdfast.cpusim.folder, /nowhere"})
  void nonsense_about_a_simulated_machine_is_told(String property, String value) {
    refused(property, value, "cpu-sim:laptop");
  }

  private static void refused(String property, String value, String backend) {
    String before = System.setProperty(property, value);
    try {
      HoldfastException failure = assertThrows(HoldfastException.class, () -> openAPool(backend));
      SettingException refused =
          assertInstanceOf(
              SettingException.class,
              failure instanceof BackendUnavailableException ? failure.getCause() : failure);
      assertEquals(property, refused.setting());
      assertEquals(value, refused.value());
    } finally {
      if (before == null) {
        System.clearProperty(property);
      } else {
        System.setProperty(property, before);
      }
    }
  }

  private static void openAPool(String id) {
    try (Backend backend = Backends.select(id)) {
      try (Device device = backend.open(0)) {
        BlockShape shape = BlockShape.of(2, 4096);
        try (DeviceAllocation memory = device.memory().allocate(16 * shape.bytes());
            HostPool pool =
                HostPool.open(
                    device,
                    DeviceBlocks.of(memory.segment(), shape.blockMajor(16)),
                    HostRequest.ofBytes(1 << 20))) {
          pool.readySlots();
        }
      } finally {
        assertEquals(List.of(), backend.stillOpen());
      }
    }
  }
}
