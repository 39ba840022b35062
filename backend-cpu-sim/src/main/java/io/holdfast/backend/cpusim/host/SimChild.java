package io.holdfast.backend.cpusim.host;

import java.util.ArrayList;
import java.util.List;

/**
 * A forked child that only lives: pages that were not kept from it are taken as long as it does.
 * Any thread.
 */
public final class SimChild implements AutoCloseable {
  private final SimHostKernel parent;
  private final List<SimMapping> inherited;
  private final List<long[]> ranges = new ArrayList<>();
  private boolean ended;

  SimChild(SimHostKernel parent, List<SimMapping> inherited) {
    this.parent = parent;
    this.inherited = List.copyOf(inherited);
    inherited.forEach(one -> ranges.addAll(one.ranges()));
  }

  /**
   * How much of its parent's memory it has.
   *
   * @return bytes
   */
  public long inheritedBytes() {
    return ranges.stream().mapToLong(range -> range[1] - range[0]).sum();
  }

  /**
   * Whether it has the memory at an address.
   *
   * @param address of its parent's
   * @return false where that was kept from it
   */
  public boolean inherited(long address) {
    return ranges.stream().anyMatch(range -> range[0] <= address && address < range[1]);
  }

  /** Ends it. Idempotent. */
  @Override
  public synchronized void close() {
    if (!ended) {
      ended = true;
      parent.childEnded(inherited);
    }
  }
}
