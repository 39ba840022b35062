package io.holdfast.internal.host;

import io.holdfast.device.Demand;
import io.holdfast.device.DeviceInfo;
import io.holdfast.error.HostKernelException;
import io.holdfast.error.UnsupportedException;
import io.holdfast.host.HostRequest;
import io.holdfast.host.NumaPolicy;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.HostKernel.NodeMode;
import io.holdfast.spi.HostKernel.ThreadPlace;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Where pages are to lie, resolved for this machine and the thread that asks.
 *
 * @param mode the policy of the mapping, or empty for no call at all
 * @param nodes the nodes of that policy
 * @param confinedTo pages can come from these only: the nodes of a strict policy, else all that the
 *     process may use
 * @param shares by node, what part of the pages should lie there; empty where nothing says
 * @param workers where threads that touch pages run; empty where the kernel does not tell
 * @param notes what a reader of the receipt should know
 */
record Placement(
    Optional<NodeMode> mode,
    Set<Integer> nodes,
    Set<Integer> confinedTo,
    Map<Integer, Double> shares,
    Optional<ThreadPlace> workers,
    List<String> notes) {
  private static final String WEIGHTS = "/sys/kernel/mm/mempolicy/weighted_interleave/node";

  // Policies of a thread by number (linux/mempolicy.h); the flags above them say how nodes count.
  private static final int MODE_BITS = 0x1fff;
  private static final int MPOL_DEFAULT = 0;
  private static final int MPOL_PREFERRED = 1;
  private static final int MPOL_BIND = 2;
  private static final int MPOL_INTERLEAVE = 3;
  private static final int MPOL_LOCAL = 4;
  private static final int MPOL_WEIGHTED_INTERLEAVE = 6;

  Placement {
    nodes = Set.copyOf(nodes);
    confinedTo = Set.copyOf(confinedTo);
    shares = Map.copyOf(shares);
    notes = List.copyOf(notes);
  }

  /**
   * Resolves a request for the calling thread.
   *
   * @throws UnsupportedException for nodes that the process may not use, by name
   */
  static Placement resolve(HostRequest request, HostKernel kernel, Machine machine) {
    return new Resolver(kernel, machine, request.placement()).resolve(request.numa());
  }

  /**
   * A thread's place that gives memory this placement, for memory that has no policy of its own.
   * Empty where the workers' is not known.
   */
  Optional<ThreadPlace> allocating() {
    if (mode.isEmpty()) {
      return workers;
    }
    int number =
        switch (mode.get()) {
          case PREFERRED -> MPOL_PREFERRED;
          case BIND -> MPOL_BIND;
          case INTERLEAVE -> MPOL_INTERLEAVE;
          case WEIGHTED_INTERLEAVE -> MPOL_WEIGHTED_INTERLEAVE;
        };
    return workers.map(place -> new ThreadPlace(number, nodes, place.cpus()));
  }

  /** The same with one more note. */
  Placement noting(String note) {
    List<String> more = new ArrayList<>(notes);
    more.add(note);
    return new Placement(mode, nodes, confinedTo, shares, workers, more);
  }

  /** The same without a policy of its own, because of a reason. */
  Placement unbound(Set<Integer> allowed, String reason) {
    return new Placement(Optional.empty(), nodes, allowed, Map.of(), workers, notes).noting(reason);
  }

  private static final class Resolver {
    private final HostKernel kernel;
    private final Machine machine;
    private final Demand demand;
    private final Set<Integer> allowed;
    private final Optional<ThreadPlace> caller;
    private final List<String> notes = new ArrayList<>();

    Resolver(HostKernel kernel, Machine machine, Demand demand) {
      this.kernel = kernel;
      this.machine = machine;
      this.demand = demand;
      this.allowed = machine.allowedNodes();
      this.caller = place();
    }

    private Optional<ThreadPlace> place() {
      try {
        return Optional.of(kernel.threadPlace());
      } catch (HostKernelException refused) {
        notes.add(
            "the caller's memory policy and CPUs cannot be read ("
                + refused.errnoName()
                + "), so populate threads only inherit them");
        return Optional.empty();
      }
    }

    Placement resolve(NumaPolicy policy) {
      if (demand == Demand.OFF) {
        return inherit();
      }
      return switch (policy) {
        case NumaPolicy.Inherit _ -> inherit();
        case NumaPolicy.Bind bind -> bound(NodeMode.BIND, bind.nodes(), Map.of());
        case NumaPolicy.Preferred preferred ->
            bound(NodeMode.PREFERRED, Set.of(preferred.node()), Map.of());
        case NumaPolicy.Interleave interleave ->
            bound(NodeMode.INTERLEAVE, interleave.nodes(), evenly(interleave.nodes()));
        case NumaPolicy.Weighted weighted -> weighted(weighted.weights());
        case NumaPolicy.Nearest nearest -> nearest(nearest.device());
      };
    }

    private Placement inherit() {
      Set<Integer> confined = allowed;
      Optional<ThreadPlace> workers = caller;
      if (caller.isPresent()) {
        ThreadPlace place = caller.get();
        int mode = place.mode() & MODE_BITS;
        boolean local =
            mode == MPOL_DEFAULT
                || mode == MPOL_LOCAL
                || (mode == MPOL_PREFERRED && place.nodes().isEmpty());
        if (mode == MPOL_BIND && !place.nodes().isEmpty()) {
          confined = place.nodes();
        }
        workers = Optional.of(local ? besideCaller(place) : besideNodes(place, place.nodes()));
      }
      return new Placement(Optional.empty(), Set.of(), confined, Map.of(), workers, notes);
    }

    // Under the default policy pages lie where the touching thread runs: were our threads to run on
    // other nodes than the caller, an inherited placement would be split.
    private ThreadPlace besideCaller(ThreadPlace place) {
      if (machine.nodes().size() < 2) {
        return place;
      }
      OptionalInt node = machine.nodeOfThread(kernel.threadId());
      return node.isEmpty() ? place : besideNodes(place, Set.of(node.getAsInt()));
    }

    private ThreadPlace besideNodes(ThreadPlace place, Set<Integer> nodes) {
      Set<Integer> near = new TreeSet<>();
      nodes.forEach(node -> near.addAll(machine.cpusOf(node)));
      near.retainAll(place.cpus());
      return near.isEmpty() ? place : new ThreadPlace(place.mode(), place.nodes(), near);
    }

    private Placement bound(NodeMode mode, Set<Integer> nodes, Map<Integer, Double> shares) {
      requireAllowed(nodes);
      for (int node : nodes) {
        if (machine.cpusOf(node).isEmpty() && machine.nodes().size() > 1) {
          notes.add("node " + node + " has no CPUs; it was asked for by number");
        }
      }
      return new Placement(
          Optional.of(mode),
          nodes,
          mode == NodeMode.BIND ? nodes : allowed,
          shares,
          caller.map(place -> besideNodes(place, nodes)),
          notes);
    }

    private void requireAllowed(Set<Integer> nodes) {
      Set<Integer> refused = new TreeSet<>(nodes);
      refused.removeAll(allowed);
      if (!refused.isEmpty()) {
        Set<Integer> there = machine.nodes();
        boolean absent = refused.stream().noneMatch(there::contains);
        throw new UnsupportedException(
            "memory on " + NumberList.nodes(refused),
            absent
                ? "this machine has " + NumberList.nodes(there)
                : "this process may use " + NumberList.nodes(allowed) + " (cpuset)",
            absent
                ? "Ask for nodes that are there"
                : "Ask for allowed nodes, or let the cpuset of the process have more");
      }
      Set<Integer> empty = new TreeSet<>(nodes);
      empty.removeAll(machine.nodesWithMemory());
      if (!empty.isEmpty()) {
        throw new UnsupportedException(
            "memory on " + NumberList.nodes(empty),
            "there is none; memory is on " + NumberList.nodes(machine.nodesWithMemory()),
            "Ask for nodes with memory");
      }
    }

    private Placement weighted(Map<Integer, Integer> weights) {
      // The kernel's weights belong to the whole machine: we compare them and never change them.
      Map<Integer, Integer> own = new TreeMap<>();
      for (int node : weights.keySet()) {
        machine.number(WEIGHTS + node).ifPresent(weight -> own.put(node, (int) weight));
      }
      Optional<String> reason = Optional.empty();
      String remedy = "";
      if (own.size() < weights.size()) {
        reason = Optional.of("this kernel has no weights for these nodes (Linux 6.9 or later has)");
        remedy = "Use interleave, or a newer kernel";
      } else if (!sameRatios(weights, own)) {
        reason = Optional.of("the machine's weights are " + own + ", not in the ratio " + weights);
        StringBuilder commands = new StringBuilder("Set them for the whole machine:");
        weights.forEach(
            (node, weight) ->
                commands
                    .append(" echo ")
                    .append(weight)
                    .append(" > ")
                    .append(WEIGHTS)
                    .append(node)
                    .append(';'));
        remedy = commands.substring(0, commands.length() - 1);
      }
      if (reason.isPresent() && demand == Demand.REQUIRE) {
        throw new UnsupportedException("interleaving by weight", reason.get(), remedy);
      }
      if (reason.isPresent()) {
        notes.add("interleaved without weights: " + reason.get());
        return bound(NodeMode.INTERLEAVE, weights.keySet(), evenly(weights.keySet()));
      }
      double sum = weights.values().stream().mapToInt(Integer::intValue).sum();
      Map<Integer, Double> shares = new TreeMap<>();
      weights.forEach((node, weight) -> shares.put(node, weight / sum));
      return bound(NodeMode.WEIGHTED_INTERLEAVE, weights.keySet(), shares);
    }

    // Equal after both are divided by their sums, in whole numbers: a / A = b / B.
    private static boolean sameRatios(Map<Integer, Integer> one, Map<Integer, Integer> other) {
      long oneSum = one.values().stream().mapToLong(Integer::intValue).sum();
      long otherSum = other.values().stream().mapToLong(Integer::intValue).sum();
      return one.entrySet().stream()
          .allMatch(
              each -> each.getValue() * otherSum == other.getOrDefault(each.getKey(), 0) * oneSum);
    }

    private static Map<Integer, Double> evenly(Set<Integer> nodes) {
      Map<Integer, Double> shares = new TreeMap<>();
      nodes.forEach(node -> shares.put(node, 1.0 / nodes.size()));
      return shares;
    }

    private Placement nearest(DeviceInfo device) {
      String name = "device " + device.ordinal();
      if (device.numaNode().isEmpty()) {
        notes.add("the node of " + name + " is not known, so nothing is bound");
        return inherit();
      }
      int from = device.numaNode().getAsInt();
      Set<Integer> candidates = new TreeSet<>(allowed);
      candidates.retainAll(machine.nodesWithMemory());
      candidates.removeIf(node -> machine.cpusOf(node).isEmpty());
      if (candidates.contains(from)) {
        return bound(NodeMode.BIND, Set.of(from), Map.of());
      }
      OptionalInt best = OptionalInt.empty();
      int shortest = Integer.MAX_VALUE;
      for (int node : candidates) {
        OptionalInt distance = machine.distance(from, node);
        if (distance.isPresent() && distance.getAsInt() < shortest) {
          shortest = distance.getAsInt();
          best = OptionalInt.of(node);
        }
      }
      if (best.isEmpty()) {
        notes.add(
            "no node with CPUs is known to be near node "
                + from
                + " of "
                + name
                + ", so nothing is bound");
        return inherit();
      }
      notes.add(
          "node " + best.getAsInt() + " is the nearest with CPUs to node " + from + " of " + name);
      return bound(NodeMode.BIND, Set.of(best.getAsInt()), Map.of());
    }
  }
}
