package io.holdfast.internal.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.function.IntToDoubleFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ThreadTunerTest {
  /** The numbers it tries, with the one it stays with at the end. */
  private static List<Integer> climb(int start, int most, IntToDoubleFunction rate) {
    ThreadTuner tuner = new ThreadTuner(start, most);
    List<Integer> tried = new ArrayList<>();
    while (!tuner.settled()) {
      tried.add(tuner.threads());
      tuner.measured(rate.applyAsDouble(tuner.threads()));
      assertTrue(tried.size() < 20, tried::toString);
    }
    tried.add(tuner.threads());
    return tried;
  }

  @Test
  void whereMoreIsSlowerItGoesBackToTheStart() {
    // Seconds for 16 GiB of base pages on a 32-core machine, by threads 1 to 16.
    double[] seconds = {0, 4.36, 2.41, 0, 1.29, 0, 0, 0, 3.07};

    assertEquals(List.of(4, 8, 2, 4), climb(4, 32, threads -> 1 / seconds[threads]));
  }

  @Test
  void whereMoreIsFasterItGoesUpToTheMost() {
    assertEquals(List.of(4, 8, 12, 12), climb(4, 12, threads -> threads));
  }

  @Test
  void whereFewerAreFasterItGoesDown() {
    assertEquals(List.of(4, 8, 2, 1, 1), climb(4, 16, threads -> 1.0 / threads));
  }

  @Test
  void itStaysAtTheBestSeenNotAtTheLast() {
    assertEquals(List.of(4, 8, 16, 8), climb(4, 64, threads -> threads == 8 ? 10 : 1));
  }

  @Test
  void aDifferenceWithinTheNoiseIsNone() {
    assertEquals(List.of(4, 8, 2, 4), climb(4, 8, threads -> threads == 8 ? 1.04 : 1));
  }

  @ParameterizedTest
  @CsvSource({"4,1,1", "4,2,2", "4,0,1", "0,8,1"})
  void theStartLiesBetweenOneAndTheMost(int start, int most, int threads) {
    assertEquals(threads, new ThreadTuner(start, most).threads());
  }
}
