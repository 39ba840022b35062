package io.holdfast.host;

import io.holdfast.device.DeviceInfo;
import java.util.Collections;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/** On which nodes pages lie. Nodes outside the process's allowed set are refused, never trimmed. */
public sealed interface NumaPolicy {
  /**
   * The caller's own policy and place, also for pages that workers touch. No system call is made.
   *
   * @return the policy
   */
  static NumaPolicy inherit() {
    return new Inherit();
  }

  /**
   * These nodes and no others.
   *
   * @param node a node
   * @param more further nodes
   * @return the policy
   */
  static NumaPolicy bind(int node, int... more) {
    return new Bind(nodes(node, more));
  }

  /**
   * That node first.
   *
   * @param node tried first
   * @return the policy
   */
  static NumaPolicy preferred(int node) {
    return new Preferred(node);
  }

  /**
   * Page by page over these nodes.
   *
   * @param node a node
   * @param more further nodes
   * @return the policy
   */
  static NumaPolicy interleave(int node, int... more) {
    return new Interleave(nodes(node, more));
  }

  /**
   * Page by page over these nodes, by weight, where the kernel can.
   *
   * @param weights by node, 1 to 255
   * @return the policy
   */
  static NumaPolicy weighted(Map<Integer, Integer> weights) {
    return new Weighted(weights);
  }

  /**
   * The node with CPUs nearest to the device.
   *
   * @param device whose node is asked for
   * @return the policy
   */
  static NumaPolicy nearest(DeviceInfo device) {
    return new Nearest(device);
  }

  /** The caller's own policy. */
  record Inherit() implements NumaPolicy {}

  /**
   * These nodes only.
   *
   * @param nodes allowed nodes, at least one
   */
  record Bind(Set<Integer> nodes) implements NumaPolicy {
    /** Checks and copies. */
    public Bind {
      nodes = checked(nodes);
    }
  }

  /**
   * That node first.
   *
   * @param node tried first
   */
  record Preferred(int node) implements NumaPolicy {
    /** Checks. */
    public Preferred {
      if (node < 0) {
        throw new IllegalArgumentException("node " + node + " is negative");
      }
    }
  }

  /**
   * Taking turns.
   *
   * @param nodes at least one
   */
  record Interleave(Set<Integer> nodes) implements NumaPolicy {
    /** Checks and copies. */
    public Interleave {
      nodes = checked(nodes);
    }
  }

  /**
   * Taking turns by weight.
   *
   * @param weights by node, 1 to 255
   */
  record Weighted(Map<Integer, Integer> weights) implements NumaPolicy {
    /** Checks and copies. */
    public Weighted {
      weights = Collections.unmodifiableMap(new TreeMap<>(weights));
      checked(weights.keySet());
      weights.forEach(
          (node, weight) -> {
            if (weight < 1 || weight > 255) {
              throw new IllegalArgumentException(
                  "the weight of node " + node + " must be 1 to 255, not " + weight);
            }
          });
    }
  }

  /**
   * Near a device.
   *
   * @param device whose node is asked for
   */
  record Nearest(DeviceInfo device) implements NumaPolicy {
    /** Checks. */
    public Nearest {
      Objects.requireNonNull(device, "device");
    }
  }

  private static Set<Integer> nodes(int node, int... more) {
    Set<Integer> all = new TreeSet<>();
    all.add(node);
    for (int other : more) {
      all.add(other);
    }
    return all;
  }

  private static Set<Integer> checked(Set<Integer> nodes) {
    if (nodes.isEmpty()) {
      throw new IllegalArgumentException("a policy needs at least one node");
    }
    for (int node : nodes) {
      if (node < 0) {
        throw new IllegalArgumentException("node " + node + " is negative");
      }
    }
    return Collections.unmodifiableSet(new TreeSet<>(nodes));
  }
}
