/** The kit that judges a backend, ours or a vendor's. */
module io.holdfast.conformance {
  requires transitive io.holdfast.api;
  requires transitive org.junit.jupiter.api;
  requires jdk.jfr;
  requires jdk.management;
  requires com.fasterxml.jackson.databind;
  requires info.picocli;
  requires java.xml;
  requires org.junit.platform.launcher;
  requires static org.jspecify;

  exports io.holdfast.conformance;
  exports io.holdfast.conformance.engine;
  exports io.holdfast.conformance.run;

  opens io.holdfast.conformance to
      org.junit.platform.commons;
  opens io.holdfast.conformance.run to
      info.picocli;

  uses io.holdfast.conformance.EngineProvider;
  uses io.holdfast.spi.BackendProvider;

  provides io.holdfast.conformance.EngineProvider with
      io.holdfast.conformance.engine.CudaEngine.Provider,
      io.holdfast.conformance.engine.HipEngine.Provider;
}
