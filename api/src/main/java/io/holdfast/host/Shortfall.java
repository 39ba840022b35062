package io.holdfast.host;

import java.util.List;
import java.util.Objects;
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
   * @param unitBytes page size it counts in; {@link #THINGS} for what is not memory
   * @param needed units wanted
   * @param available units there
   * @param remedy the command or key that raises it
   */
  public record Limit(
      String name, OptionalInt node, long unitBytes, long needed, long available, String remedy) {
    /** The unit of limits that do not count memory, such as the number of mappings. */
    public static final long THINGS = 0;

    /** Checks. */
    public Limit {
      Objects.requireNonNull(name, "name");
      Objects.requireNonNull(node, "node");
      Objects.requireNonNull(remedy, "remedy");
      if (unitBytes < 0 || available < 0 || needed <= available) {
        throw new IllegalArgumentException(
            name + ": needed " + needed + " and available " + available + " are no shortfall");
      }
    }

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
          + unit();
    }

    private String unit() {
      if (unitBytes == THINGS) {
        return "";
      }
      if (unitBytes == 1) {
        return missing() == 1 ? " byte" : " bytes";
      }
      String pages = missing() == 1 ? " page of " : " pages of ";
      if (unitBytes % (1L << 30) == 0) {
        return pages + (unitBytes >> 30) + " GiB";
      }
      return pages
          + (unitBytes % (1L << 20) == 0 ? (unitBytes >> 20) + " MiB" : (unitBytes >> 10) + " KiB");
    }
  }
}
