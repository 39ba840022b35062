package io.holdfast.backend.cpusim.driver;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/**
 * Finds what the driver keeps for the operating system thread that calls.
 *
 * <p>For a virtual thread that is its carrier: a context that is left current there is seen by
 * whichever virtual thread runs on it next, as with a real driver. Java names the carrier only in a
 * mounted thread's own description.
 */
final class Carriers {
  private final ThreadLocal<ThreadState> platform = ThreadLocal.withInitial(ThreadState::new);
  private final ConcurrentMap<String, ThreadState> carriers = new ConcurrentHashMap<>();

  ThreadState current() {
    Thread thread = Thread.currentThread();
    return thread.isVirtual() ? ofCarrier(thread) : platform.get();
  }

  private ThreadState ofCarrier(Thread thread) {
    String description = thread.toString();
    String carrier = description.substring(description.lastIndexOf('@') + 1);
    ThreadState known = carriers.get(carrier); // waits for nobody
    return known != null ? known : carriers.computeIfAbsent(carrier, _ -> new ThreadState());
  }
}
