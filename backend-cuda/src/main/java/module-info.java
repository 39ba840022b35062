/** The CUDA driver behind Holdfast's accelerator port. */
module io.holdfast.backend.cuda {
  requires io.holdfast.api;
  requires static org.jspecify;

  provides io.holdfast.spi.BackendProvider with
      io.holdfast.backend.cuda.CudaProvider;
}
