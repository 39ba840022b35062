package io.holdfast.spi;

/** The transcript's pen. */
@FunctionalInterface
public interface ProbeLog {
  /**
   * Writes down one thing tried and what came of it.
   *
   * @param what a library name, a symbol, a device node
   * @param outcome what came of it
   */
  void tried(String what, String outcome);
}
