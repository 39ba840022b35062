package io.holdfast.backend.cpusim.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.backend.cpusim.driver.FaultScript.At;
import io.holdfast.backend.cpusim.driver.FaultScript.Delay;
import io.holdfast.backend.cpusim.driver.FaultScript.Every;
import io.holdfast.backend.cpusim.driver.FaultScript.Fail;
import io.holdfast.backend.cpusim.driver.FaultScript.Hang;
import io.holdfast.backend.cpusim.driver.FaultScript.LoseDevice;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Scripts of faults as texts. */
class FaultScriptTest {
  @Test
  void aFileSaysWhichCallWhenAndWhat(@TempDir Path folder) throws IOException {
    Path file = folder.resolve("faults");
    Files.writeString(
        file,
        """
        # two rules and a half
        host-register   3       fail 2
        cuMemCreate     1       hang commit   # by its exported name
        event-query     every 5 delay 2ms

        memcpy-*        2..4    fail 0x1
        STREAM_QUERY    7..     lose 700
        mem-alloc       always  fail 2
        """);
    List<FaultScript.Rule> rules = FaultScript.read(file).rules();

    assertEquals(6, rules.size());
    assertEquals(
        new FaultScript.Rule(Set.of(Operation.HOST_REGISTER), new At(3, 3), new Fail(2)),
        rules.get(0));
    assertEquals(
        new FaultScript.Rule(Set.of(Operation.VMM_CREATE), new At(1, 1), new Hang("commit")),
        rules.get(1));
    assertEquals(
        new FaultScript.Rule(Set.of(Operation.EVENT_QUERY), new Every(5), new Delay(2_000_000)),
        rules.get(2));
    assertTrue(rules.get(3).operations().contains(Operation.MEMCPY_BATCH_ASYNC));
    assertTrue(!rules.get(3).operations().contains(Operation.MEMSET_ASYNC));
    assertEquals(new At(7, Long.MAX_VALUE), rules.get(4).when());
    assertEquals(new LoseDevice(700), rules.get(4).action());
    assertEquals(new Every(1), rules.get(5).when());
  }

  @Test
  void aLeadingZeroIsNoOtherBase() {
    assertEquals(
        new At(10, 10), FaultScript.parse("host-register 010 fail 2").rules().getFirst().when());
  }

  @Test
  void eachRuleCountsAlsoTheCallsAtWhichAnotherStrikes() {
    Faults faults = new Faults(SimClock.real());
    faults.add(
        FaultScript.parse(
            """
            event-create every 2 delay 1ns
            event-create 5       fail 3
            event-create 4       fail 2
            """));
    List<Integer> codes = new ArrayList<>();
    for (int call = 1; call <= 6; call++) {
      codes.add(faults.strike(Operation.EVENT_CREATE));
    }

    // At the fourth the first rule acts; the fifth is the fifth all the same.
    assertEquals(List.of(0, 0, 0, 0, 3, 0), codes);
    assertEquals(4, faults.strikes());
  }

  @Test
  void refusalsAmongNoCallsAreNotPossible() {
    assertThrows(IllegalArgumentException.class, () -> FaultScript.seeded(1, 1, 0, 2));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "host-register",
        "host-register 3",
        "host-register three fail 1",
        "host-register 3 explode 1",
        "host-register 0 fail 1",
        "host-register 1 fail 4294967297",
        "host-register 1 delay -5ms",
        "host-register 5..3 fail 1",
        "host-register 1 fail 0",
        "host-register 1 fail 1 now",
        "host-register 1 delay soon",
        "no-such-call 1 fail 1",
        "nothing* 1 fail 1",
        "* every 0 fail 1"
      })
  void aLineThatCannotBeUnderstoodIsNamed(String line) {
    IllegalArgumentException wrong =
        assertThrows(IllegalArgumentException.class, () -> FaultScript.parse("\n" + line));
    assertTrue(wrong.getMessage().startsWith("fault script, line 2 (" + line + "): "), line);
  }

  @Test
  void oneSeedIsOneScript() {
    assertEquals(FaultScript.seeded(7, 5, 100, 1), FaultScript.seeded(7, 5, 100, 1));
    assertNotEquals(FaultScript.seeded(7, 5, 100, 1), FaultScript.seeded(8, 5, 100, 1));
    assertEquals(5, FaultScript.seeded(7, 5, 100, 1).rules().size());
  }
}
