package io.holdfast.conformance;

import static io.holdfast.conformance.Mutant.driver;
import static io.holdfast.conformance.Mutant.policy;

import io.holdfast.backend.cpusim.SimMachine;
import io.holdfast.conformance.tap.Twist;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** Backends that do a right thing in the wrong thread. */
final class ThreadMutants {
  private ThreadMutants() {}

  static List<Mutant> all() {
    String area = "threads";
    List<Mutant> all = new ArrayList<>();
    all.add(
        driver(
            "takes a lock after setting the device",
            area,
            Set.of(Rule.THR_05),
            machine -> Wrong.call("DevicePort.recordEvent", lockedInside(machine))));
    all.add(
        policy(
            "registers on a virtual thread",
            area,
            Set.of(Rule.THR_03),
            () -> Wrong.call("DevicePort.register", (_, through) -> onVirtualThread(through))));
    return all;
  }

  /** The device is set, then a lock is waited for whose holder takes its time. */
  private static Twist lockedInside(SimMachine machine) {
    ReentrantLock lock = new ReentrantLock();
    return (_, through) -> {
      long before = machine.calls().ctxGetCurrent();
      long[] context = new long[1];
      machine.calls().primaryCtxRetain(context, 0);
      machine.calls().ctxSetCurrent(context[0]);
      lock.lock();
      try {
        LockSupport.parkNanos(50_000);
        return through.go();
      } finally {
        lock.unlock();
        machine.calls().ctxSetCurrent(before);
        machine.calls().primaryCtxRelease(0);
      }
    };
  }

  private static @Nullable Object onVirtualThread(Twist.Through through) throws Throwable {
    AtomicReference<@Nullable Object> answer = new AtomicReference<>();
    AtomicReference<@Nullable Throwable> refusal = new AtomicReference<>();
    Thread.ofVirtual()
        .start(
            () -> {
              try {
                answer.set(through.go());
              } catch (Throwable refused) {
                refusal.set(refused);
              }
            })
        .join();
    Throwable refused = refusal.get();
    if (refused != null) {
      throw refused;
    }
    return answer.get();
  }
}
