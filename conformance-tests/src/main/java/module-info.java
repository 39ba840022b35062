/** The kit that judges a backend, ours or a vendor's. */
module io.holdfast.conformance {
  requires transitive io.holdfast.api;
  requires transitive org.junit.jupiter.api;
  requires static org.jspecify;

  exports io.holdfast.conformance;
}
