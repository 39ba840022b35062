package io.holdfast.backend.cpusim.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import org.junit.jupiter.api.Test;

/** Personalities as texts. */
class PersonalityTest {
  @Test
  void allThatComeAlongCanBeRead() {
    assertEquals(10, Personality.shipped().size());
    for (String id : Personality.shipped()) {
      Personality read = Personalities.named(id);
      assertEquals(id.startsWith("cuda") ? Family.CUDA : Family.HIP, read.family(), id);
      assertTrue(read.label().contains("simulated"), id);
    }
  }

  @Test
  void versionsDifferWhereTheFactsSaySo() {
    assertEquals(0, Personalities.named("cuda-550").registration().pagesPerCall());
    assertEquals(1L << 27, Personalities.named("cuda-580").registration().pagesPerCall());
    assertFalse(Personalities.named("cuda-550").exports("cuMemcpyBatchAsync"));
    assertTrue(Personalities.named("cuda-580").exports("cuMemcpyBatchAsync_v2"));
    assertEquals(2, Personalities.named("hip-5.2").registration().failureCode());
    assertEquals(Personality.ImportForm.ADDRESS, Personalities.named("hip-7.0").vmm().importForm());
    assertEquals(Personality.ImportForm.VALUE, Personalities.named("hip-7.1").vmm().importForm());
    assertEquals("hipErrorUnknown", Personalities.named("hip-7.1").codeName(800));
    assertEquals("CUDA_ERROR_NOT_PERMITTED", Personalities.named("cuda-615").codeName(800));
  }

  @Test
  void linesCanBeChangedButNotInvented() {
    Personality changed =
        Personalities.named("cuda-580", Map.of("register.backing-pages", "whole"));
    assertEquals(Personality.BackingPages.WHOLE, changed.registration().backingPages());
    assertThrows(
        IllegalArgumentException.class,
        () -> Personalities.named("cuda-580", Map.of("register.colour", "red")));
    assertTrue(
        assertThrows(
                IllegalArgumentException.class,
                () -> Personalities.named("cuda-580", Map.of("vmm.level", "perhaps")))
            .getMessage()
            .contains("vmm.level = perhaps"));
    assertThrows(IllegalArgumentException.class, () -> Personalities.named("cuda-1"));
    assertThrows(IllegalArgumentException.class, () -> Personalities.parse("own", Map.of()));
  }
}
