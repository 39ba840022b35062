package consumer;

import io.holdfast.Backend;
import io.holdfast.Backends;
import io.holdfast.conformance.CoreConformance;

/** The published kit judges the published simulator, by the rules that every backend keeps. */
final class JudgedTest extends CoreConformance {
  @Override
  protected Backend open() {
    return Backends.select("cpu-sim");
  }
}
