package io.holdfast.conformance;

import io.holdfast.Backend;
import io.holdfast.Backends;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/** Any backend, by name: {@code -Dholdfast.conformance.backend=cuda} on a GPU host. */
@EnabledIfSystemProperty(
    named = "holdfast.conformance.backend",
    matches = ".+",
    disabledReason = "names no backend with -Dholdfast.conformance.backend=ID")
final class NamedBackendConformanceTest extends BackendConformance {
  @Override
  protected Backend open() {
    return Backends.select(System.getProperty("holdfast.conformance.backend"));
  }
}
