package io.holdfast.internal.linux;

import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Set;
import org.junit.jupiter.api.Test;

class BitMaskTest {
  private final Arena arena = Arena.ofAuto();

  @Test
  void node0IsBit0OfOneWordAndItsMaxnodeIsOneMoreThanTheBits() {
    BitMask mask = BitMask.of(Set.of(0), arena);

    assertArrayEquals(new long[] {1}, mask.words().toArray(JAVA_LONG));
    assertEquals(65, mask.maxnode());
  }

  @Test
  void node63IsTheLastBitOfTheFirstWordAndNode64TheFirstOfTheSecond() {
    assertArrayEquals(
        new long[] {Long.MIN_VALUE}, BitMask.of(Set.of(63), arena).words().toArray(JAVA_LONG));
    BitMask two = BitMask.of(Set.of(63, 64), arena);
    assertArrayEquals(new long[] {Long.MIN_VALUE, 1}, two.words().toArray(JAVA_LONG));
    assertEquals(129, two.maxnode());
  }

  @Test
  void node130IsBit2OfTheThirdWord() {
    BitMask mask = BitMask.of(Set.of(130), arena);

    assertArrayEquals(new long[] {0, 0, 4}, mask.words().toArray(JAVA_LONG));
    assertEquals(193, mask.maxnode());
  }

  @Test
  void noNodesAreANullMaskOfNoBits() {
    BitMask mask = BitMask.of(Set.of(), arena);

    assertEquals(MemorySegment.NULL, mask.words());
    assertEquals(0, mask.maxnode());
    assertEquals(Set.of(), mask.numbers());
  }

  @Test
  void numbersComeBackAsTheyWentIn() {
    Set<Integer> numbers = Set.of(0, 1, 63, 64, 127, 128, 1023, 32_767);

    assertEquals(numbers, BitMask.of(numbers, arena).numbers());
  }

  @Test
  void numbersThatNoKernelHasAreRefusedBeforeAnythingIsAllocated() {
    assertThrows(IllegalArgumentException.class, () -> BitMask.of(Set.of(-1), arena));
    assertThrows(IllegalArgumentException.class, () -> BitMask.of(Set.of(524_288), arena));
    assertThrows(
        IllegalArgumentException.class, () -> BitMask.of(Set.of(Integer.MAX_VALUE), arena));
  }
}
