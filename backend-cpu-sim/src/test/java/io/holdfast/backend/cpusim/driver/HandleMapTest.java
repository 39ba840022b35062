package io.holdfast.backend.cpusim.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.ArrayList;
import java.util.SplittableRandom;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** The map of handles against a tree map. */
class HandleMapTest {
  @Test
  void itAnswersAsATreeMapDoes() {
    for (int seed = 0; seed < 30; seed++) {
      SplittableRandom random = new SplittableRandom(seed);
      HandleMap<String> map = new HandleMap<>();
      TreeMap<Long, String> oracle = new TreeMap<>();
      for (int step = 0; step < 3000; step++) {
        long handle = 16L * (1 + random.nextInt(400));
        String where = "seed " + seed + ", step " + step;
        switch (random.nextInt(4)) {
          case 0, 1 -> {
            map.put(handle, where);
            oracle.put(handle, where);
          }
          case 2 -> assertEquals(oracle.remove(handle), map.remove(handle), where);
          default -> assertEquals(oracle.get(handle), map.get(handle), where);
        }
        assertEquals(oracle.size(), map.size(), where);
      }
      assertEquals(new ArrayList<>(oracle.values()), map.toList());
      map.removeIf(value -> value.endsWith("7"));
      oracle.values().removeIf(value -> value.endsWith("7"));
      assertEquals(new ArrayList<>(oracle.values()), map.toList());
      assertNull(map.get(0));
      assertNull(map.remove(0));
      map.clear();
      assertEquals(0, map.size());
    }
  }
}
