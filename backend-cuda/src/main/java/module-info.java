/** The CUDA driver behind Holdfast's accelerator port. */
module io.holdfast.backend.cuda {
  requires io.holdfast.api;
  requires static jcuda;
  requires static org.jspecify;

  exports io.holdfast.backend.cuda.jcuda;

  provides io.holdfast.spi.BackendProvider with
      io.holdfast.backend.cuda.CudaProvider;
}
