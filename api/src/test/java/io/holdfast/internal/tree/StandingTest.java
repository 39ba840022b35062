package io.holdfast.internal.tree;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What is being made is nobody's to close; what is made is closed with its ground, once. */
@Timeout(value = 1, unit = TimeUnit.MINUTES)
class StandingTest {
  private static final class Ground extends Standing {
    final List<String> released = Collections.synchronizedList(new ArrayList<>());

    Ground() {
      super("the ground");
      enrol();
    }

    @Override
    protected void release() {
      released.add(name());
    }
  }

  /** Whatever a close asks of it needs the list, which is there only at the end. */
  private static final class Slow extends Standing {
    private final Ground ground;
    private final List<String> asked;

    Slow(Ground ground, Runnable meanwhile) {
      super("a slow one", ground);
      this.ground = ground;
      meanwhile.run();
      this.asked = Collections.synchronizedList(new ArrayList<>());
    }

    @Override
    protected void shut() {
      asked.add("shut");
    }

    @Override
    protected void quiesce() {
      asked.add("quiesce");
    }

    @Override
    protected void release() {
      asked.add("release");
      ground.released.add(name());
    }
  }

  private static void elsewhere(Runnable task) {
    var _ = CompletableFuture.runAsync(task).orTimeout(30, TimeUnit.SECONDS).join();
  }

  @Test
  void aCloseInTheMidstOfMakingDoesNotMeetTheHalfMade() {
    Ground ground = new Ground();
    Slow made = new Slow(ground, () -> elsewhere(ground::close)); // the close ends: it met nobody
    assertEquals(List.of("the ground"), ground.released);

    IllegalStateException late = assertThrows(IllegalStateException.class, made::enrol);
    assertEquals("the ground is closed", late.getMessage());
    assertEquals(List.of(), made.asked);

    made.close(); // the maker gives up
    made.close();
    assertEquals(List.of("shut", "quiesce", "release"), made.asked);
    assertFalse(made.isOpen());
  }

  @Test
  void onlyWhatIsEnrolledIsSeenAndClosedWithItsGround() {
    Ground ground = new Ground();
    Slow made = new Slow(ground, () -> assertEquals(List.of(), ground.namesAbove()));
    assertEquals(List.of(), ground.namesAbove());
    made.enrol();
    assertEquals(List.of("a slow one"), ground.namesAbove());

    ground.close();

    assertEquals(List.of("a slow one", "the ground"), ground.released);
    assertFalse(made.isOpen());
    assertEquals(List.of(), ground.namesAbove());
  }

  @Test
  void nothingStandsOnTheHalfMadeAndNothingIsEnrolledTwice() {
    Ground ground = new Ground();
    Slow below = new Slow(ground, () -> {});
    Standing above =
        new Standing("on top", below) {
          @Override
          protected void release() {}
        };
    IllegalStateException early = assertThrows(IllegalStateException.class, above::enrol);
    assertTrue(early.getMessage().contains("half made"), early.getMessage());
    below.enrol();
    above.enrol();
    assertThrows(IllegalStateException.class, above::enrol);
    ground.close();
    assertFalse(above.isOpen());
    IllegalStateException late =
        assertThrows(IllegalStateException.class, () -> new Slow(ground, () -> {}));
    assertEquals("the ground is closed", late.getMessage());
  }

  /** Makers and a closer start at one moment: whoever is enrolled is closed, the others know. */
  @Test
  void whoeverIsEnrolledIsClosedWhoeverIsNotLearnsOfIt() throws Exception {
    for (int round = 0; round < 300; round++) {
      Ground ground = new Ground();
      CyclicBarrier start = new CyclicBarrier(2);
      CompletableFuture<Boolean> enrolled =
          CompletableFuture.supplyAsync(
              () -> {
                meet(start);
                try {
                  var _ = Standing.enrolled(new Slow(ground, () -> {}));
                  return true;
                } catch (IllegalStateException closed) {
                  return false;
                }
              });
      meet(start);
      ground.close();
      List<String> expected =
          enrolled.get(30, TimeUnit.SECONDS)
              ? List.of("a slow one", "the ground")
              : List.of("the ground");
      assertEquals(expected, ground.released);
    }
  }

  private static void meet(CyclicBarrier start) {
    try {
      start.await(30, TimeUnit.SECONDS);
    } catch (Exception broken) {
      throw new IllegalStateException(broken);
    }
  }
}
