package io.holdfast.backend.cpusim.host;

import io.holdfast.spi.HostKernel.NodeMode;
import io.holdfast.spi.HostKernel.ThreadPlace;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;

/**
 * A memory policy.
 *
 * @param mode its kind, or empty for local memory
 * @param nodes its nodes
 */
record Policy(Optional<NodeMode> mode, SortedSet<Integer> nodes) {
  // by number (linux/mempolicy.h); flags lie above
  private static final int MODE_BITS = 0x1fff;
  private static final int MPOL_PREFERRED = 1;
  private static final int MPOL_BIND = 2;
  private static final int MPOL_INTERLEAVE = 3;
  private static final int MPOL_WEIGHTED_INTERLEAVE = 6;

  static final Policy LOCAL = new Policy(Optional.empty(), new TreeSet<>());

  Policy {
    nodes = new TreeSet<>(nodes);
  }

  /** A thread's own. */
  static Policy of(ThreadPlace place) {
    Optional<NodeMode> mode =
        switch (place.mode() & MODE_BITS) {
          case MPOL_PREFERRED -> Optional.of(NodeMode.PREFERRED);
          case MPOL_BIND -> Optional.of(NodeMode.BIND);
          case MPOL_INTERLEAVE -> Optional.of(NodeMode.INTERLEAVE);
          case MPOL_WEIGHTED_INTERLEAVE -> Optional.of(NodeMode.WEIGHTED_INTERLEAVE);
          default -> Optional.empty();
        };
    return place.nodes().isEmpty() ? LOCAL : new Policy(mode, new TreeSet<>(place.nodes()));
  }

  /** The nodes turn by turn, or empty where there are no turns. */
  int[] turns(Map<Integer, Integer> weights) {
    if (mode.isEmpty()) {
      return new int[0];
    }
    return switch (mode.get()) {
      case INTERLEAVE -> nodes.stream().mapToInt(Integer::intValue).toArray();
      case WEIGHTED_INTERLEAVE ->
          nodes.stream()
              .flatMapToInt(
                  node ->
                      java.util.stream.IntStream.generate(() -> node)
                          .limit(weights.getOrDefault(node, 1)))
              .toArray();
      case BIND, PREFERRED -> new int[0];
    };
  }

  /** Nodes in the order they are tried; a strict policy has no others. */
  List<Integer> order(SimHost host, int local) {
    if (mode.isEmpty()) {
      return host.nearest(local);
    }
    return switch (mode.get()) {
      case BIND -> host.nearest(local).stream().filter(node -> nodes.contains(node)).toList();
      case PREFERRED -> host.nearest(nodes.first());
      case INTERLEAVE, WEIGHTED_INTERLEAVE -> host.nearest(local);
    };
  }

  /** How numa_maps writes it. */
  String text() {
    if (mode.isEmpty()) {
      return "default";
    }
    String name =
        switch (mode.get()) {
          case BIND -> "bind";
          case PREFERRED -> "prefer";
          case INTERLEAVE -> "interleave";
          case WEIGHTED_INTERLEAVE -> "weighted interleave";
        };
    return name + ":" + Numbers.list(nodes);
  }
}
