package io.holdfast.bench.run;

import java.util.List;

/**
 * What is measured, and how much of it.
 *
 * @param backend id
 * @param simulated whether a simulator stands in for the device
 * @param scale how thoroughly
 * @param pages kinds that host memory is taken on, in the command line's form
 * @param poolMib size of a pool whose start is measured
 * @param tools that are there beside: {@code cc}, {@code jcuda}
 */
public record Target(
    String backend,
    boolean simulated,
    Scale scale,
    List<String> pages,
    long poolMib,
    List<String> tools) {
  /** Keeps a copy. */
  public Target {
    pages = List.copyOf(pages);
    tools = List.copyOf(tools);
  }

  /** How thoroughly. */
  public enum Scale {
    /** Few sizes, one process each: whether all is as it should be. */
    QUICK,
    /** All sizes, more processes: figures to publish. */
    FULL
  }

  boolean cuda() {
    return backend.equals("cuda") || backend.startsWith("cuda:");
  }

  boolean has(String tool) {
    return tools.contains(tool);
  }

  boolean full() {
    return scale == Scale.FULL;
  }
}
