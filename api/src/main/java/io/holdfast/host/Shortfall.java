package io.holdfast.host;

import java.util.List;
import java.util.OptionalInt;
import java.util.stream.Collectors;

/**
 * Every limit that binds, at once.
 *
 * @param limits at least one
 */
public record Shortfall(List<Limit> limits) {
  /** Checks and copies. */
  public Shortfall {
    limits = List.copyOf(limits);
    if (limits.isEmpty()) {
      throw new IllegalArgumentException("a shortfall has at least one limit");
    }
  }

  /**
   * All limits, for people.
   *
   * @return one sentence without a full stop
   */
  public String describe() {
    return limits.stream().map(Limit::describe).collect(Collectors.joining("; "));
  }

  /**
   * One limit.
   *
   * @param name for example a pool, a cgroup, a mount
   * @param node which node, where it is per node
   * @param unitBytes page size it counts in
   * @param needed units wanted
   * @param available units there
   * @param remedy the command or key that raises it
   */
  public record Limit(
      String name, OptionalInt node, long unitBytes, long needed, long available, String remedy) {
    /**
     * How much is missing.
     *
     * @return units, positive
     */
    public long missing() {
      return needed - available;
    }

    /**
     * The limit, for people.
     *
     * @return one clause with the numbers
     */
    public String describe() {
      return name
          + (node.isPresent() ? " on node " + node.getAsInt() : "")
          + ": needed "
          + needed
          + ", available "
          + available
          + ", short by "
          + missing()
          + (unitBytes == 1 ? " bytes" : " pages of " + (unitBytes >> 10) + " KiB");
    }
  }
}
