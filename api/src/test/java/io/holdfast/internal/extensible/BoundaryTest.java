package io.holdfast.internal.extensible;

import static io.holdfast.internal.extensible.Rig.assertSays;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.device.DeviceStream;
import io.holdfast.device.ExtensibleRegion;
import io.holdfast.device.ExtensibleRegion.State;
import io.holdfast.device.Order;
import io.holdfast.internal.core.CoreStream;
import io.holdfast.layout.BlockShape;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The first and the last number that each change takes, and what a closed region still answers. */
final class BoundaryTest {
  private static final long CAPACITY = 160;

  @Test
  void shrinking_goes_down_to_one_block_and_neither_to_none_nor_up() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(Rig.TWO_PLANES);
      region.commit(64);

      assertThrows(IllegalArgumentException.class, () -> region.shrink(0, rig.now()));
      assertThrows(IllegalArgumentException.class, () -> region.shrink(65, rig.now()));
      assertEquals(64, region.shrink(64, rig.now()).blocks());
      assertEquals(0, region.epoch(), "nothing was exchanged");
      assertEquals(1, region.shrink(1, rig.now()).blocks());
      assertEquals(1, region.count());
    }
  }

  @Test
  void shrinking_to_the_end_of_a_chunk_makes_no_new_one() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(BlockShape.of(1, Rig.KIB64).layerMajor(320));
      region.commit(32);
      region.commit(64);
      region.commit(160);
      rig.memory.forget();

      region.shrink(64, rig.now());

      assertEquals(List.of(), rig.memory.names("create"));
      assertEquals(List.of("unmap"), rig.memory.names("unmap"));
      assertEquals(List.of(2), region.census().handlesPerSegment());
    }
  }

  @Test
  void a_size_that_cannot_be_sealed_leaves_it_open_and_the_capacity_can_be() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(Rig.TWO_PLANES);
      region.commit(40);

      assertThrows(IllegalArgumentException.class, () -> region.seal(CAPACITY + 1, rig.now()));
      assertThrows(IllegalArgumentException.class, () -> region.seal(0, rig.now()));
      IllegalArgumentException fewer =
          assertThrows(IllegalArgumentException.class, () -> region.seal(33, rig.now()));

      assertSays("would take away 7 committed", fewer);
      assertEquals(State.COMMITTED, region.state());
      assertEquals(CAPACITY, region.seal(CAPACITY, rig.now()).blocks());
      assertEquals(State.SEALED, region.state());
    }
  }

  @Test
  void a_fixed_view_has_from_one_to_all_committed_blocks() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(Rig.TWO_PLANES);
      region.commit(5);

      assertThrows(IllegalArgumentException.class, () -> region.first(0));
      assertThrows(IllegalArgumentException.class, () -> region.first(6));
      assertEquals(1, region.first(1).count());
      assertEquals(5, region.first(5).count());
    }
  }

  /** Whoever is refused must leave no lock behind that keeps the next one waiting. */
  @Test
  void a_closed_region_refuses_every_call_of_every_thread() {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(Rig.TWO_PLANES);
      region.commit(3);
      inThread(region::close);

      List<Consumer<ExtensibleRegion>> calls =
          List.of(
              closed -> closed.commit(4),
              closed -> closed.shrink(1, rig.now()),
              closed -> closed.seal(4, rig.now()),
              closed -> closed.releasePhysical(rig.now()),
              ExtensibleRegion::recommit,
              closed -> closed.first(1),
              closed -> closed.beforeChange(change -> {}));
      for (Consumer<ExtensibleRegion> call : calls) {
        CompletionException refused =
            assertThrows(CompletionException.class, () -> inThread(() -> call.accept(region)));
        assertTrue(refused.getCause() instanceof IllegalStateException, refused.toString());
      }
    }
  }

  private static void inThread(Runnable work) {
    CompletableFuture.runAsync(work, task -> Thread.ofPlatform().start(task))
        .orTimeout(30, TimeUnit.SECONDS)
        .join();
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void closing_keeps_an_interrupt_that_came_while_it_waited(boolean interrupted) throws Exception {
    try (Rig rig = new Rig()) {
      ExtensibleRegion region = rig.reserve(Rig.TWO_PLANES);
      region.commit(3);
      DeviceStream engine = rig.engineStream();
      long gate = rig.port.gate(((CoreStream) engine).handle().value());
      Thread releasing =
          Thread.ofPlatform().start(() -> region.releasePhysical(Order.after(engine)));
      awaitBlocked(releasing);

      CompletableFuture<Boolean> seen = new CompletableFuture<>();
      Thread closing =
          Thread.ofPlatform()
              .start(
                  () -> {
                    region.close();
                    seen.complete(Thread.currentThread().isInterrupted());
                  });
      awaitBlocked(closing);
      if (interrupted) {
        closing.interrupt();
      }
      rig.port.open(gate);
      releasing.join();

      assertEquals(interrupted, seen.get(30, TimeUnit.SECONDS));
      assertEquals(State.CLOSED, region.state());
    }
  }

  private static void awaitBlocked(Thread thread) {
    while (thread.getState() != Thread.State.WAITING
        && thread.getState() != Thread.State.TIMED_WAITING) {
      assertTrue(thread.isAlive(), "it did not wait");
      Thread.onSpinWait();
    }
  }
}
