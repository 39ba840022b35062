package io.holdfast.bench.experiment;

/** One measurement or trial, with a device of its own. */
@FunctionalInterface
interface Experiment {
  /**
   * Runs it.
   *
   * @param bench what it works with
   */
  void run(Workbench bench);
}
