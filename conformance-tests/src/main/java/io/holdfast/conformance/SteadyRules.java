package io.holdfast.conformance;

import static io.holdfast.device.Order.unordered;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.sun.management.ThreadMXBean;
import io.holdfast.Backend;
import io.holdfast.Device;
import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.Completion;
import io.holdfast.device.DeviceAllocation;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.device.Order;
import io.holdfast.host.HostRequest;
import io.holdfast.pool.HostPool;
import java.lang.management.ManagementFactory;
import org.junit.jupiter.api.Test;

/** Steady state, measured on the backend as it is, with nothing of the kit's between. */
abstract class SteadyRules extends Rules {
  private static final int ROUNDS = 20_000;

  SteadyRules(Conformance kit) {
    super(kit);
  }

  @Test
  @Covers(Rule.CPY_18)
  final void cpy18_a_submission_in_steady_state_allocates_nothing() {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    if (!threads.isThreadAllocatedMemorySupported()) {
      throw missing("a Java runtime that counts allocated bytes");
    }
    try (Backend plain = kit.open();
        Device bare = plain.open(0);
        DeviceAllocation on = bare.memory().allocate(16 * SHAPE.bytes());
        HostPool pool =
            HostPool.open(
                bare,
                DeviceBlocks.of(on.segment(), SHAPE.blockMajor(16)),
                HostRequest.ofBytes(16 * SHAPE.bytes()))) {
      BlockCopies copies = BlockCopies.device(1, 3, 5, 7, 9).host(2, 4, 6, 8, 10);
      Completion completion = pool.store(copies, unordered());
      completion.await();
      Order.TwoSided order = unordered();
      long asking = Long.MAX_VALUE; // what the question itself allocates
      for (int round = 0; round < ROUNDS; round++) {
        long first = threads.getCurrentThreadAllocatedBytes();
        long second = threads.getCurrentThreadAllocatedBytes();
        asking = Math.min(asking, second - first);
      }
      long least = Long.MAX_VALUE;
      // what the just-in-time compiler takes away, whenever it comes, is not the backend's
      for (int round = 0; round < ROUNDS && least > asking; round++) {
        long first = threads.getCurrentThreadAllocatedBytes();
        Completion done = pool.store(copies, order, completion);
        long second = threads.getCurrentThreadAllocatedBytes();
        done.await();
        least = Math.min(least, second - first);
      }
      assertEquals(asking, least, "bytes of Java heap for each submission");
    }
  }
}
