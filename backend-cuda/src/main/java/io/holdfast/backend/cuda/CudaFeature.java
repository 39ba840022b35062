package io.holdfast.backend.cuda;

/** What a driver library or a binding to it may lack. */
enum CudaFeature {
  /** Many copies in one call. */
  BATCH_COPY("batched copies"),
  /** Regular rows in one call. */
  PITCHED_COPY("pitched copies"),
  /** Host memory that the driver allocates. */
  HOST_ALLOCATION("driver host memory"),
  /** Addresses apart from physical memory. */
  VIRTUAL_MEMORY("virtual memory"),
  /** Ranges as dma-buf descriptors. */
  DMA_BUF("dma-buf export"),
  /** Copies by the device's own cores. */
  KERNEL_COPY("kernel copies");

  private final String words;

  CudaFeature(String words) {
    this.words = words;
  }

  /** For the transcript. */
  String words() {
    return words;
  }
}
