/** A simulated accelerator, for development and tests without one. */
module io.holdfast.backend.cpusim {
  requires transitive io.holdfast.api;
  requires static org.jspecify;

  exports io.holdfast.backend.cpusim;
  exports io.holdfast.backend.cpusim.driver;
  exports io.holdfast.backend.cpusim.host;

  provides io.holdfast.spi.BackendProvider with
      io.holdfast.backend.cpusim.CpuSimProvider;
}
