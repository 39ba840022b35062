package io.holdfast.conformance.tap;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.holdfast.backend.cpusim.SimMachine;
import io.holdfast.spi.HostKernel;
import org.junit.jupiter.api.Test;

final class TapTest {
  @Test
  void a_test_that_never_forgets_fills_no_heap_and_is_told_so_when_it_asks() {
    Tap tap = new Tap();
    try (SimMachine machine = SimMachine.builder().build()) {
      HostKernel kernel = tap.kernel(machine.kernel());
      for (long call = 0; call < Tap.MOST_KEPT; call++) {
        kernel.basePageBytes();
      }
      assertEquals(Tap.MOST_KEPT, tap.count("HostKernel.basePageBytes"));

      kernel.basePageBytes();
      assertThrows(IllegalStateException.class, () -> tap.count("HostKernel.basePageBytes"));
      tap.forget();
      kernel.basePageBytes();
      assertEquals(1, tap.count("HostKernel.basePageBytes"));
    }
  }
}
