package io.holdfast.conformance.vm;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.Backend;
import io.holdfast.Backends;
import io.holdfast.conformance.NumaConformance;
import io.holdfast.conformance.Rule;
import io.holdfast.conformance.run.Judge;
import io.holdfast.conformance.tap.Tap;
import io.holdfast.spi.StandardBackend;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** The kit's NUMA profile must be red where a backend binds the wrong node. */
final class GuestWrongNode {
  /** Binds node 1 where node 0 was asked for, and the other way round. */
  public static final class Broken extends NumaConformance {
    /** Made by JUnit. */
    public Broken() {}

    @Override
    protected Backend open() {
      Tap wrong = new Tap();
      wrong.twist(
          "HostKernel.bind",
          (call, through) ->
              through.goWith(
                  call.argument(Object.class, 0),
                  call.argument(Object.class, 1),
                  call.argument(Set.class, 2).equals(Set.of(0)) ? Set.of(1) : Set.of(0)));
      return StandardBackend.interposing(wrong, () -> Backends.select("cpu-sim"));
    }
  }

  @Test
  void a_backend_that_binds_the_wrong_node_is_caught() {
    Judge.Outcome outcome =
        Judge.judge(Broken.class, Set.of(Rule.NUM_01, Rule.NUM_05, Rule.NUM_06, Rule.NUM_08));
    assertTrue(outcome.caught(Rule.NUM_01), outcome.toString());
    assertTrue(outcome.caught(Rule.NUM_06), outcome.toString());
  }
}
