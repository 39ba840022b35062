package io.holdfast.internal.extensible;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.device.DeviceBlocks;
import io.holdfast.device.DeviceEvent;
import io.holdfast.device.DevicePlane;
import io.holdfast.device.DeviceStream;
import io.holdfast.device.ExtensibleRegion;
import io.holdfast.device.ExtensibleRegion.Contents;
import io.holdfast.device.ExtensibleRegion.State;
import io.holdfast.device.Order;
import io.holdfast.device.RegionChange;
import io.holdfast.device.RegionChange.Kind;
import io.holdfast.device.StaleException;
import io.holdfast.device.Subscription;
import io.holdfast.error.BusyException;
import io.holdfast.internal.Segment;
import io.holdfast.internal.core.CoreStream;
import io.holdfast.internal.tree.UseCount;
import io.holdfast.layout.BlockShape;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** What changes hold off, whom they tell, and what they make stale. */
final class ChangeTest {
  private static UseCount usesOf(ExtensibleRegion region) {
    return ((Segment) region.plane(0).memory()).owner().uses();
  }

  private static long handle(DeviceStream stream) {
    return ((CoreStream) stream).handle().value();
  }

  /**
   * Waits until a thread waits for the driver or for copies; the state is the proof, not a time.
   */
  private static void awaitBlocked(Thread thread) {
    while (thread.getState() != Thread.State.WAITING
        && thread.getState() != Thread.State.TIMED_WAITING) {
      assertTrue(thread.isAlive(), "it did not wait");
      Thread.onSpinWait();
    }
  }

  /** B49: release waits for the device to pass the last use. */
  @Test
  void b49_a_release_waits_for_the_last_use_on_the_engines_stream() throws Exception {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(Rig.TWO_PLANES);
      region.commit(40);
      DeviceStream engine = rig.engineStream();
      long gate = rig.port.gate(handle(engine));
      rig.memory.forget();

      Thread releasing =
          Thread.ofPlatform().start(() -> region.releasePhysical(Order.after(engine)));
      awaitBlocked(releasing);
      assertEquals(2, rig.memory.mappingCount());
      assertEquals(List.of(), rig.memory.names("unmap"));
      rig.port.open(gate);
      releasing.join();

      assertEquals(0, rig.memory.mappingCount());
      assertEquals(State.RELEASED, region.state());
    }
  }

  @Test
  void b49_a_second_release_is_a_no_op() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(BlockShape.of(1, Rig.KIB64).layerMajor(160));
      region.commit(40);
      region.releasePhysical(rig.now());

      region.releasePhysical(rig.now());

      assertEquals(List.of("unmap"), rig.memory.names("unmap"));
      assertEquals(1, region.epoch());
    }
  }

  @Test
  void a_release_waits_for_copies_in_flight_and_lets_no_new_one_begin() throws Exception {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(Rig.TWO_PLANES);
      region.commit(40);
      UseCount uses = usesOf(region);
      assertTrue(uses.tryEnter());
      Order.After now = rig.now();

      Thread releasing = Thread.ofPlatform().start(() -> region.releasePhysical(now));
      awaitBlocked(releasing);
      assertTrue(uses.isShut());
      assertFalse(uses.tryEnter());
      assertEquals(2, rig.memory.mappingCount());
      uses.leave();
      releasing.join();

      assertEquals(0, rig.memory.mappingCount());
      assertFalse(uses.isShut());
    }
  }

  @Test
  void growing_waits_for_nobody() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(Rig.TWO_PLANES);
      region.commit(3);
      UseCount uses = usesOf(region);
      assertTrue(uses.tryEnter());

      region.commit(100);

      assertEquals(100, region.count());
      uses.leave();
    }
  }

  @Test
  void a_last_use_that_was_never_recorded_refuses_the_change_and_leaves_everything() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(Rig.TWO_PLANES);
      region.commit(3);
      rig.write(region, 0, 3);
      DeviceEvent never = rig.device.newEvent();

      assertThrows(IllegalStateException.class, () -> region.releasePhysical(Order.after(never)));

      assertEquals(State.COMMITTED, region.state());
      assertEquals(0, region.epoch());
      assertFalse(usesOf(region).isShut());
      assertTrue(rig.isWritten(region, 0, 3));
    }
  }

  @Test
  void a_last_use_inside_a_graph_capture_is_refused_and_later_changes_still_zero() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(Rig.TWO_PLANES);
      region.commit(3);
      long capturing = rig.port.engineStream();
      rig.port.capture(capturing);
      DeviceEvent inside = rig.device.wrapEvent(rig.port.engineEvent(capturing));
      int streams = rig.port.streamCount();

      assertThrows(BusyException.class, () -> region.releasePhysical(Order.after(inside)));

      assertTrue(rig.port.isCapturing(capturing), "the engine's capture goes on");
      assertEquals(streams, rig.port.streamCount());
      assertEquals(3, region.count());
      region.commit(40);
      assertTrue(rig.isZero(region, 3, 40));
    }
  }

  // ---- epochs and views

  @Test
  void the_epoch_counts_exchanges_and_releases_and_no_growth() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(Rig.TWO_PLANES);
      List<Long> epochs = new ArrayList<>();
      region.commit(1);
      region.commit(100);
      epochs.add(region.epoch());
      region.consolidate(Contents.KEEP, rig.now());
      epochs.add(region.epoch());
      region.shrink(40, rig.now());
      epochs.add(region.epoch());
      region.releasePhysical(rig.now());
      epochs.add(region.epoch());
      region.recommit();
      epochs.add(region.epoch());
      region.commit(41);
      epochs.add(region.epoch());

      assertEquals(List.of(0L, 1L, 2L, 3L, 3L, 3L), epochs);
    }
  }

  /** B82: what was resolved before the pages went is refused, with both numbers. */
  @Test
  void b82_fixed_views_and_their_memory_are_stale_after_release_and_recommit() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(Rig.TWO_PLANES);
      region.commit(1);
      region.commit(40);
      region.consolidate(Contents.KEEP, rig.now());
      DeviceBlocks fixed = region.first(10);
      DevicePlane plane = fixed.plane(0);

      region.releasePhysical(rig.now());
      region.recommit();

      StaleException stale = assertThrows(StaleException.class, () -> fixed.plane(0));
      assertEquals(1, stale.seenEpoch());
      assertEquals(2, stale.epoch());
      assertThrows(StaleException.class, fixed::count);
      assertThrows(StaleException.class, () -> plane.memory().rawAddress());
      assertThrows(StaleException.class, () -> plane.memory().slice(0, 1));
      assertEquals(10, region.first(10).count());
      assertEquals(fixed.shape(), region.shape());
    }
  }

  @Test
  void a_fixed_view_shows_exactly_its_blocks_while_the_region_grows() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(Rig.TWO_PLANES);
      region.commit(10);
      DeviceBlocks fixed = region.first(4);

      region.commit(100);

      assertEquals(4, fixed.count());
      assertEquals(4 * Rig.KIB64, fixed.plane(1).memory().byteSize());
      assertThrows(IllegalArgumentException.class, () -> region.first(101));
      assertThrows(IllegalArgumentException.class, () -> region.first(0));
    }
  }

  // ---- who is told

  @Test
  void subscribers_hear_of_each_change_before_it_with_the_epoch_after_it() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(Rig.TWO_PLANES);
      List<RegionChange> heard = new ArrayList<>();
      List<Long> blocksThen = new ArrayList<>();
      var subscription =
          region.beforeChange(
              change -> {
                heard.add(change);
                blocksThen.add(region.count());
              });
      region.commit(1);
      region.commit(1);
      region.commit(40);
      region.consolidate(Contents.DISCARD, rig.now());
      region.releasePhysical(rig.now());
      region.recommit();
      region.close();
      subscription.close();

      assertEquals(
          List.of(
              new RegionChange(Kind.GROW, 0),
              new RegionChange(Kind.GROW, 0),
              new RegionChange(Kind.EXCHANGE, 1),
              new RegionChange(Kind.RELEASE, 2),
              new RegionChange(Kind.RECOMMIT, 2),
              new RegionChange(Kind.CLOSE, 3)),
          heard);
      assertEquals(List.of(0L, 1L, 40L, 40L, 0L, 40L), blocksThen);
    }
  }

  @Test
  void what_a_subscriber_throws_stops_the_change() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(Rig.TWO_PLANES);
      region.commit(3);
      rig.write(region, 0, 3);
      Subscription veto =
          region.beforeChange(
              change -> {
                throw new UnsupportedOperationException("not now");
              });

      assertThrows(UnsupportedOperationException.class, () -> region.releasePhysical(rig.now()));
      assertThrows(UnsupportedOperationException.class, () -> region.commit(4));
      assertThrows(UnsupportedOperationException.class, region::close);

      assertEquals(3, region.count());
      assertEquals(0, region.epoch());
      assertTrue(rig.isWritten(region, 0, 3));
      veto.close();
      region.commit(4);
    }
  }

  @Test
  void copies_are_possible_while_subscribers_are_told() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(Rig.TWO_PLANES);
      region.commit(3);
      AtomicBoolean entered = new AtomicBoolean();
      var _ =
          region.beforeChange(
              change -> {
                if (change.kind() == Kind.RELEASE) {
                  UseCount uses = usesOf(region);
                  entered.set(uses.tryEnter());
                  uses.leave();
                }
              });

      region.releasePhysical(rig.now());

      assertTrue(entered.get());
    }
  }

  @Test
  void a_subscriber_cannot_change_or_close_the_region() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(Rig.TWO_PLANES);
      AtomicReference<Throwable> commit = new AtomicReference<>();
      AtomicReference<Throwable> close = new AtomicReference<>();
      Subscription subscription =
          region.beforeChange(
              change -> {
                commit.set(assertThrows(IllegalStateException.class, () -> region.commit(2)));
                close.set(assertThrows(IllegalStateException.class, region::close));
              });

      region.commit(1);

      assertNotNull(commit.get());
      assertNotNull(close.get());
      assertEquals(1, region.count());
      subscription.close();
    }
  }

  @Test
  void a_closed_subscription_hears_nothing_and_closing_it_inside_its_call_is_fine() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(Rig.TWO_PLANES);
      AtomicInteger calls = new AtomicInteger();
      AtomicReference<Subscription> own = new AtomicReference<>();
      own.set(
          region.beforeChange(
              change -> {
                calls.incrementAndGet();
                own.get().close();
              }));

      region.commit(1);
      region.commit(2);

      assertEquals(1, calls.get());
      own.get().close();
    }
  }

  @Test
  void no_call_starts_after_a_subscription_was_closed_on_another_thread() throws Exception {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(Rig.TWO_PLANES);
      CountDownLatch inside = new CountDownLatch(1);
      CountDownLatch goOn = new CountDownLatch(1);
      AtomicInteger calls = new AtomicInteger();
      Subscription subscription =
          region.beforeChange(
              change -> {
                calls.incrementAndGet();
                inside.countDown();
                assertDoesNotThrow(() -> goOn.await());
              });
      Thread changing = Thread.ofPlatform().start(() -> region.commit(1));
      inside.await();
      Thread closing = Thread.ofPlatform().start(subscription::close);
      awaitBlocked(closing);
      goOn.countDown();
      closing.join();
      changing.join();

      region.commit(2);

      assertEquals(1, calls.get());
    }
  }

  // ---- several threads

  @Test
  void changes_exclude_one_another_and_the_last_state_is_one_of_theirs() throws Exception {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(Rig.TWO_PLANES);
      region.commit(1);
      List<Thread> threads = new ArrayList<>();
      List<Throwable> failures = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        int number = i;
        threads.add(
            Thread.ofVirtual()
                .start(
                    () -> {
                      try {
                        for (int round = 0; round < 10; round++) {
                          switch (number) {
                            case 0 -> region.commit(10 + round);
                            case 1 -> region.consolidate(Contents.KEEP, rig.now());
                            case 2 -> region.recommit();
                            default -> {
                              var _ = region.first(1).shape();
                              var _ = region.census();
                            }
                          }
                        }
                      } catch (Throwable failure) {
                        synchronized (failures) {
                          failures.add(failure);
                        }
                      }
                    }));
      }
      for (Thread thread : threads) {
        thread.join();
      }

      assertEquals(List.of(), failures);
      assertEquals(19, region.count());
    }
  }

  @Test
  void closing_waits_for_a_change_that_runs() throws Exception {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(Rig.TWO_PLANES);
      region.commit(3);
      DeviceStream engine = rig.engineStream();
      long gate = rig.port.gate(handle(engine));
      Thread releasing =
          Thread.ofPlatform().start(() -> region.releasePhysical(Order.after(engine)));
      awaitBlocked(releasing);

      CompletableFuture<Void> closed = new CompletableFuture<>();
      Thread closing =
          Thread.ofPlatform()
              .start(
                  () -> {
                    region.close();
                    closed.complete(null);
                  });
      awaitBlocked(closing);
      assertFalse(closed.isDone());
      rig.port.open(gate);
      releasing.join();
      closed.join();

      assertEquals(State.CLOSED, region.state());
    }
  }

  @Test
  void a_closed_region_refuses_everything_and_closes_again() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(Rig.TWO_PLANES);
      region.commit(3);
      DevicePlane plane = region.plane(0);
      int streams = rig.port.streamCount();

      region.close();
      region.close();

      assertEquals(State.CLOSED, region.state());
      assertEquals(0, region.count());
      assertEquals(streams - 1, rig.port.streamCount());
      assertThrows(IllegalStateException.class, () -> region.commit(4));
      assertThrows(IllegalStateException.class, () -> region.plane(0));
      assertThrows(IllegalStateException.class, () -> plane.memory().rawAddress());
      rig.assertNothingLeft();
    }
  }

  @Test
  void closing_the_device_closes_its_regions() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(Rig.TWO_PLANES);
      region.commit(3);

      rig.device.close();

      assertEquals(State.CLOSED, region.state());
      rig.assertNothingLeft();
    }
  }
}
