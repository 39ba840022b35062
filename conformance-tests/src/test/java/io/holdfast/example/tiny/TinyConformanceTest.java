package io.holdfast.example.tiny;

import io.holdfast.Backend;
import io.holdfast.conformance.CoreConformance;
import java.io.IOException;
import org.junit.jupiter.api.BeforeAll;

final class TinyConformanceTest extends CoreConformance {
  @BeforeAll
  static void compileTheLibrary() throws IOException, InterruptedException {
    TinyLibrary.compile();
  }

  @Override
  protected Backend open() {
    return new TinyProvider().open();
  }
}
