/** The HIP runtime behind Holdfast's accelerator port. */
module io.holdfast.backend.hip {
  requires io.holdfast.api;
  requires static org.jspecify;

  provides io.holdfast.spi.BackendProvider with
      io.holdfast.backend.hip.HipProvider;
}
