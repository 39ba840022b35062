package io.holdfast.backend.cpusim.driver;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** Device memory against a plain array. */
class PhysicalMemoryTest {
  @Test
  void itHoldsWhatWasWrittenAndFreshBytesElsewhere() {
    int size = 5 * 65536 + 123;
    for (int seed = 0; seed < 10; seed++) {
      SplittableRandom random = new SplittableRandom(seed);
      PhysicalMemory memory = new PhysicalMemory(0, size, (byte) 0x5A);
      PhysicalMemory other = new PhysicalMemory(0, size, (byte) 0x11);
      byte[] expected = new byte[size];
      byte[] expectedOther = new byte[size];
      Arrays.fill(expected, (byte) 0x5A);
      Arrays.fill(expectedOther, (byte) 0x11);
      try (Arena arena = Arena.ofConfined()) {
        MemorySegment host = arena.allocate(size);
        for (int step = 0; step < 60; step++) {
          int at = random.nextInt(size);
          int from = random.nextInt(size);
          int bytes = random.nextInt(Math.min(100_000, size - Math.max(at, from)) + 1);
          switch (random.nextInt(3)) {
            case 0 -> {
              byte[] content = new byte[bytes];
              random.nextBytes(content);
              MemorySegment.copy(content, 0, host, ValueLayout.JAVA_BYTE, from, bytes);
              memory.write(at, host.address() + from, bytes);
              System.arraycopy(content, 0, expected, at, bytes);
            }
            case 1 -> {
              memory.fill(at, bytes, (byte) step);
              Arrays.fill(expected, at, at + bytes, (byte) step);
            }
            default -> {
              PhysicalMemory.copy(memory, from, other, at, bytes);
              System.arraycopy(expected, from, expectedOther, at, bytes);
            }
          }
        }
        memory.read(0, host.address(), size);
        assertArrayEquals(expected, host.toArray(ValueLayout.JAVA_BYTE), "seed " + seed);
        other.read(0, host.address(), size);
        assertArrayEquals(expectedOther, host.toArray(ValueLayout.JAVA_BYTE), "seed " + seed);
      }
      memory.free();
      other.free();
    }
  }

  @Test
  void onlyWhatIsWrittenIsHeld() {
    PhysicalMemory memory = new PhysicalMemory(0, 1L << 42, (byte) 0);
    memory.fill((1L << 42) - 1, 1, (byte) 1);
    memory.fill(1L << 41, 65536, (byte) 1);
    assertEquals(2 * 65536, memory.touchedBytes());
    memory.free();
    assertThrows(IllegalStateException.class, () -> memory.fill(0, 1, (byte) 1));
  }
}
