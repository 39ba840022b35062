package io.holdfast.internal.extensible;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import io.holdfast.device.Demand;
import io.holdfast.device.ExtensibleRegion;
import io.holdfast.device.ExtensibleRegion.Contents;
import io.holdfast.device.ExtensibleRegion.State;
import io.holdfast.device.ExtensibleRequest;
import io.holdfast.device.HandleKind;
import io.holdfast.device.Order;
import io.holdfast.error.DriverFault;
import io.holdfast.error.HoldfastException;
import io.holdfast.layout.BlockShape;
import io.holdfast.spi.Traits.Quirk;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Every call of every change fails once, and then for a while. No handle, mapping or reservation
 * may be left at the end; the region must be usable at its old size or its new one; and what it
 * held must be there, unless it was to be discarded.
 */
final class FaultSweepTest {
  private static final int BLOCKS = 40;

  /** A change, from a region that has committed 1 and then {@link #BLOCKS} blocks. */
  enum Change {
    COMMIT,
    SEAL,
    SEAL_DISCARDING,
    CONSOLIDATE,
    CONSOLIDATE_DISCARDING,
    SHRINK,
    RELEASE,
    RECOMMIT,
    EXPORT;

    void run(ExtensibleRegion region, Order.After last) {
      switch (this) {
        case COMMIT -> region.commit(100);
        case SEAL -> region.seal(100, last);
        case SEAL_DISCARDING -> region.seal(100, Contents.DISCARD, last);
        case CONSOLIDATE -> region.consolidate(Contents.KEEP, last);
        case CONSOLIDATE_DISCARDING -> region.consolidate(Contents.DISCARD, last);
        case SHRINK -> region.shrink(20, last);
        case RELEASE -> region.releasePhysical(last);
        case RECOMMIT -> {
          region.releasePhysical(last);
          region.recommit();
        }
        case EXPORT -> {
          region.seal(BLOCKS, last);
          region.export(HandleKind.POSIX_FD).close();
        }
      }
    }

    boolean mayLoseContents() {
      return this == SEAL_DISCARDING
          || this == CONSOLIDATE_DISCARDING
          || this == SHRINK
          || this == RECOMMIT
          || this == RELEASE;
    }
  }

  static List<Arguments> sweeps() {
    List<Arguments> sweeps = new ArrayList<>();
    for (Change change : Change.values()) {
      for (boolean quirky : new boolean[] {false, true}) {
        for (DriverFault fault : List.of(DriverFault.OTHER, DriverFault.OUT_OF_MEMORY)) {
          sweeps.add(Arguments.of(change, quirky, fault, 1));
        }
        sweeps.add(Arguments.of(change, quirky, DriverFault.OTHER, 3));
        sweeps.add(Arguments.of(change, quirky, DriverFault.OTHER, 1_000));
      }
    }
    return sweeps;
  }

  @ParameterizedTest(name = "{0}, every quirk {1}, {2} for {3} calls")
  @MethodSource("sweeps")
  void nothing_leaks_and_nothing_is_lost(
      Change change, boolean quirky, DriverFault fault, int failures) {
    int call = 0;
    while (failsAt(change, quirky, fault, failures, call)) {
      call++;
    }
    assertTrue(call >= 4, change + " made only " + call + " calls");
  }

  /** False when the change made fewer calls. */
  private static boolean failsAt(
      Change change, boolean quirky, DriverFault fault, int failures, int call) {
    String where = change + " at call " + call;
    try (Rig rig = new Rig()) {
      if (quirky) {
        rig.port.quirks.addAll(List.of(Quirk.values()));
        rig.memory.accessNeedsWholePrefix = true;
        rig.memory.keepsUntilAddressesGo = true;
      }
      ExtensibleRegion region =
          rig.reserve(
              ExtensibleRequest.of(BlockShape.of(2, Rig.KIB64).layerMajor(160))
                  .shareable(Demand.REQUIRE));
      region.commit(1);
      region.commit(BLOCKS);
      rig.write(region, 0, BLOCKS);
      List<Long> addresses = Rig.addresses(region);
      Order.After last = rig.now();
      rig.memory.fail(call, failures, fault);

      boolean failed = false;
      try {
        change.run(region, last);
      } catch (HoldfastException refused) {
        failed = true;
      }
      boolean injected = rig.memory.failures < failures;
      rig.memory.failNoMore();

      assertEquals(addresses, Rig.addresses(region), where);
      assertEquals(List.of(), rig.memory.violations, where);
      check(rig, region, change, failed, failures, where);
      if (injected) {
        repeat(rig, region, change, where);
      }
      region.close();
      rig.assertNothingLeft();
      return injected;
    }
  }

  private static void check(
      Rig rig, ExtensibleRegion region, Change change, boolean failed, int failures, String where) {
    switch (region.state()) {
      case RELEASED -> {
        assertEquals(0, region.count(), where);
        boolean asked = change == Change.RELEASE || change == Change.RECOMMIT;
        assertTrue(asked || failures > 1 || change.mayLoseContents(), where + " lost its pages");
      }
      case COMMITTED, SEALED -> {
        if (failed && change != Change.RECOMMIT) {
          assertEquals(BLOCKS, region.count(), where);
        }
        if (!change.mayLoseContents()) {
          assertTrue(rig.isWritten(region, 0, BLOCKS), where + " lost what was there");
          assertTrue(rig.isZero(region, BLOCKS, region.count()), where + " gave what is not zero");
        } else if (failed && region.epoch() == 0 && change == Change.RELEASE) {
          assertTrue(rig.isWritten(region, 0, BLOCKS), where + " was refused and lost bytes");
        }
      }
      case RESERVED, CLOSED -> fail(where + " ended in " + region.state());
    }
    assertTrue(region.census().physicalBytes() >= region.committed().physicalBytes(), where);
  }

  /** The same change works when the driver works again. */
  private static void repeat(Rig rig, ExtensibleRegion region, Change change, String where) {
    if (region.state() == State.RELEASED && change != Change.RELEASE) {
      region.recommit();
    }
    if (region.state() == State.COMMITTED) {
      change.run(region, rig.now());
    }
    long expected =
        switch (change) {
          case COMMIT, SEAL, SEAL_DISCARDING -> 100;
          case CONSOLIDATE, CONSOLIDATE_DISCARDING, RECOMMIT, EXPORT -> BLOCKS;
          case SHRINK -> 20;
          case RELEASE -> 0;
        };
    assertEquals(expected, region.count(), where);
    region.releasePhysical(rig.now());
    assertEquals(List.of(), region.census().notes(), where);
    assertEquals(0, rig.memory.usedBytes(), where + ": memory astray");
  }
}
