package io.holdfast.conformance;

import io.holdfast.Device;
import java.util.Optional;

/**
 * Puts an engine beside a backend, for rules about contexts and captures. Found by {@link
 * java.util.ServiceLoader}, so that the command has one, too; {@link Conformance#engine} goes
 * before. Any thread.
 */
public interface EngineProvider {
  /**
   * For which backend.
   *
   * @return its id, without a variant
   */
  String backend();

  /**
   * Begins an engine.
   *
   * @param device on which it works; open
   * @return the engine, or empty where there can be none here
   */
  Optional<Engine> engine(Device device);
}
