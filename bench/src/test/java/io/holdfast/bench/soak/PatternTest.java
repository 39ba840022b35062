package io.holdfast.bench.soak;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A check that cannot find a wrong byte checks nothing. */
final class PatternTest {
  @ParameterizedTest
  @ValueSource(ints = {1, 7, 8, 9, 63, 64, 65, 4096})
  void every_single_wrong_byte_is_found_where_it_is(int bytes) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment memory = arena.allocate(bytes);
      Pattern.fill(memory, 17);
      assertEquals(-1, Pattern.firstDifference(memory, 17));
      for (int at = 0; at < bytes; at++) {
        byte right = memory.get(ValueLayout.JAVA_BYTE, at);
        memory.set(ValueLayout.JAVA_BYTE, at, (byte) (right ^ 0x40));
        assertEquals(at, Pattern.firstDifference(memory, 17));
        memory.set(ValueLayout.JAVA_BYTE, at, right);
      }
    }
  }

  @Test
  void another_blocks_bytes_and_shifted_bytes_do_not_pass() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment memory = arena.allocate(4096);
      Pattern.fill(memory, 17);
      assertEquals(0, Pattern.firstDifference(memory, 18));
      MemorySegment.copy(memory, 8, memory, 0, 4088);
      assertEquals(0, Pattern.firstDifference(memory, 17));
    }
  }
}
