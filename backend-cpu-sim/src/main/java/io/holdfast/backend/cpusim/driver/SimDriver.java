package io.holdfast.backend.cpusim.driver;

/**
 * The driver of a simulated machine: entry points in the manner of C, each answering with a code.
 *
 * <p>There is one method per driver function, named after it without its prefix; the same method
 * serves CUDA and HIP, and the {@link Personality} decides where they differ. Outputs go to arrays
 * of the caller's, which a refused call leaves untouched. Any thread may call; what a real driver
 * keeps per operating system thread is kept per platform thread, and for virtual threads per
 * carrier.
 *
 * <p>The calls block as real ones do: a waiting call blocks its thread, whatever that is.
 */
@SuppressWarnings("exports") // naming @Nullable binds nobody to have it
public final class SimDriver extends ModuleCalls implements AutoCloseable {
  /**
   * Sets a driver up; nothing runs yet.
   *
   * @param setup what it is
   */
  public SimDriver(DriverSetup setup) {
    super(setup);
  }

  /**
   * What is not given back yet.
   *
   * @return a count of everything that an owner must return
   */
  public LeakAudit audit() {
    lock.lock();
    try {
      int retains = 0;
      int foreign = 0;
      for (Context context : contexts.toList()) {
        retains += cuda && context.primary ? context.retains : 0;
        foreign += context.primary ? 0 : 1;
      }
      int registrations = 0;
      int hostAllocations = 0;
      long hostBytes = 0;
      for (Registration one : pins.all()) {
        registrations += one.arena == null ? 1 : 0;
        hostAllocations += one.arena == null ? 0 : 1;
        hostBytes += one.bytes;
      }
      int allocations = 0;
      int mappings = 0;
      long deviceBytes = 0;
      for (Backed one : space.allBacked()) {
        allocations += one.reservation == null ? 1 : 0;
        mappings += one.reservation == null ? 0 : 1;
        deviceBytes += one.reservation == null ? one.bytes : 0;
      }
      for (Physical one : space.allPhysicals()) {
        deviceBytes += one.memory.bytes;
      }
      return new LeakAudit(
          retains,
          foreign,
          registrations,
          hostAllocations,
          hostBytes,
          allocations,
          space.allReservations().size(),
          mappings,
          space.allPhysicals().size(),
          space.openDescriptors(),
          deviceBytes,
          streams.size(),
          events.size(),
          modules.size(),
          0,
          0,
          0,
          (int) pins.leakedObjects());
    } finally {
      lock.unlock();
    }
  }

  /** Stops everything and gives all memory back; calls answer 4 from now on. Idempotent. */
  @Override
  public void close() {
    lock.lock();
    try {
      if (closed) {
        return;
      }
      closed = true;
      for (Context context : contexts.toList()) {
        context.streams.forEach(stream -> stream.queue.clear());
      }
      lock.announce();
    } finally {
      lock.unlock();
    }
    faults.close();
    scheduler.close();
    lock.lock();
    try {
      contexts.toList().forEach(pins::removeAll);
      space.clear();
      streams.clear();
      events.clear();
      modules.clear();
    } finally {
      lock.unlock();
    }
  }
}
