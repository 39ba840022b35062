package io.holdfast.backend.cpusim;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.backend.cpusim.Race.Bug;
import io.holdfast.backend.cpusim.driver.Exploration;
import io.holdfast.backend.cpusim.driver.SimSchedule;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Ordering bugs are searched for by seed, and replayed by it. */
@Timeout(value = 10, unit = TimeUnit.MINUTES)
class SchedulesTest {
  /** How many seeds a planted bug may hide from; each was found within a few. */
  private static final long SEEDS_FOR_A_BUG = 200;

  @Test
  void noScheduleOfStoresLoadsAndClosesGoesWrong() {
    assertEquals(List.of(), failures(0, 150));
  }

  @Test
  @Tag("deep")
  void noneOfTenThousandSchedulesGoesWrong() {
    assertEquals(List.of(), failures(150, 10_150));
  }

  private static List<String> failures(long from, long to) {
    List<String> failures = new ArrayList<>();
    for (long seed = from; seed < to && failures.size() < 5; seed++) {
      Optional<String> failure = new Race(seed, Bug.NONE).run();
      if (failure.isPresent()) {
        failures.add("seed " + seed + ": " + failure.get());
      }
    }
    return failures;
  }

  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "NONE")
  void aPlantedBugIsFoundAndReplayedByItsSeed(Bug bug) {
    OptionalLong found =
        LongStream.range(0, SEEDS_FOR_A_BUG)
            .filter(seed -> new Race(seed, bug).run().isPresent())
            .findFirst();

    long seed = found.orElseThrow(() -> new AssertionError(bug + " was found by no seed"));
    Race first = new Race(seed, bug);
    Optional<String> failure = first.run();
    assertTrue(failure.isPresent(), "found once and not again, seed " + seed);
    for (int time = 0; time < 3; time++) {
      Race again = new Race(seed, bug);
      assertEquals(failure, again.run(), "seed " + seed);
      assertArrayEquals(first.choices(), again.choices(), "seed " + seed);
    }
    assertEquals(Optional.empty(), new Race(seed, Bug.NONE).run(), "it is the bug, seed " + seed);
  }

  /** Whatever Holdfast's own threads do meanwhile. */
  @Test
  void aRaceChoosesTheSameEachTimeItIsRun() {
    for (long seed = 0; seed < 10; seed++) {
      Race first = new Race(seed, Bug.NONE);
      assertEquals(Optional.empty(), first.run());
      Race again = new Race(seed, Bug.NONE);
      assertEquals(Optional.empty(), again.run());
      assertArrayEquals(first.choices(), again.choices(), "seed " + seed);
    }
  }

  @Test
  void onlyPlatformThreadsAsk() {
    Thread asker = Thread.ofVirtual().unstarted(() -> {});
    assertThrows(IllegalArgumentException.class, () -> SimSchedule.seeded(1).askedOnlyBy(asker));
  }

  /** Two streams with two fills of the same byte each, and an event between them or not. */
  @Test
  void allSchedulesOfASmallCaseAreExplored() {
    Set<Byte> ends = new HashSet<>();
    Exploration unordered = new Exploration();
    for (SimSchedule one = unordered.first(); unordered.more(one); one = unordered.next(one)) {
      ends.add(lastFill(one, false));
    }
    assertEquals(Set.of((byte) 2, (byte) 4), ends, "either stream can be the last");
    assertTrue(unordered.schedules() > 20, () -> "only " + unordered.schedules());

    ends.clear();
    Exploration ordered = new Exploration();
    for (SimSchedule one = ordered.first(); ordered.more(one); one = ordered.next(one)) {
      ends.add(lastFill(one, true));
    }
    assertEquals(Set.of((byte) 4), ends, "no schedule breaks the wait");
  }

  private static byte lastFill(SimSchedule schedule, boolean wait) {
    try (SimMachine machine =
            SimMachine.builder().schedule(schedule).leaks(LeakPolicy.FAIL).build();
        SimEngine engine = machine.engine(0)) {
      long memory = engine.allocate(64);
      long first = engine.newStream();
      long second = engine.newStream();
      long event = engine.newEvent();
      engine.fill(memory, 64, (byte) 1, first);
      engine.fill(memory, 64, (byte) 2, first);
      engine.record(event, first);
      if (wait) {
        engine.wait(second, event);
      }
      engine.fill(memory, 64, (byte) 3, second);
      engine.fill(memory, 64, (byte) 4, second);
      engine.synchronize(first);
      engine.synchronize(second);
      return engine.read(memory, 1)[0];
    }
  }

  @Test
  void theSameSeedChoosesTheSame() {
    SimSchedule first = SimSchedule.seeded(7);
    SimSchedule again = SimSchedule.seeded(7);
    byte end = lastFill(first, false);

    assertEquals(end, lastFill(again, false));
    assertArrayEquals(first.choices(), again.choices());
    assertEquals(end, lastFill(SimSchedule.of(first.choices()), false));
  }
}
