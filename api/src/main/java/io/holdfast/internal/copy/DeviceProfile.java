package io.holdfast.internal.copy;

import io.holdfast.BackendKind;
import io.holdfast.internal.config.SystemSetting;
import io.holdfast.internal.core.CoreDevice;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The profile of one open device: the one that was kept, else measured when first asked for. Safe
 * from any thread.
 *
 * <p>Measured on hardware only: a simulator's times are its own. The system property {@value
 * #MEASURE_PROPERTY} with the value {@code never} turns it off; what was kept still counts.
 */
final class DeviceProfile {
  /** {@code never}, or {@code once} for the default. */
  static final String MEASURE_PROPERTY = "holdfast.copy.measure";

  /** What a first route may take longer, once for each device, driver and link. */
  private static final long BUDGET_NANOS = TimeUnit.MILLISECONDS.toNanos(1_500);

  private final CoreDevice device;
  private final ProfileStore store;
  private final ReentrantLock lock = new ReentrantLock();
  private @Nullable CopyProfile known;

  DeviceProfile(CoreDevice device, ProfileStore store) {
    this.device = device;
    this.store = store;
  }

  /** The profile; never fails: where it cannot be measured it is unknown and says why. */
  CopyProfile get() {
    lock.lock();
    try {
      CopyProfile profile = known;
      if (profile == null) {
        profile = find();
        known = profile;
      }
      return profile;
    } finally {
      lock.unlock();
    }
  }

  private CopyProfile find() {
    if (device.backend().kind() == BackendKind.SIMULATOR) {
      return CopyProfile.unknown("a simulator is not measured");
    }
    String key = ProfileStore.keyOf(device);
    Optional<CopyProfile> kept = store.load(key);
    if (kept.isPresent()) {
      return kept.get();
    }
    if (SystemSetting.word(MEASURE_PROPERTY, "once", "never").equals("never")) {
      return CopyProfile.unknown("measuring is turned off by " + MEASURE_PROPERTY);
    }
    try (Calibration calibration =
        new Calibration(device, device.backend().kernel()::nanoTime, BUDGET_NANOS)) {
      CopyProfile measured =
          calibration.measure(
              "measured " + Instant.now().truncatedTo(ChronoUnit.SECONDS) + " on " + key);
      var _ = store.save(key, measured);
      return measured;
    } catch (RuntimeException failure) {
      return CopyProfile.unknown("measuring failed: " + failure.getMessage());
    }
  }
}
