package io.holdfast.backend.hip;

/** What a version of the runtime may lack. */
enum HipFeature {
  /** Many copies in one call. */
  BATCH_COPY("batched copies"),
  /** Regular rows in one call. */
  PITCHED_COPY("pitched copies"),
  /** Host memory that the runtime allocates. */
  HOST_ALLOCATION("runtime host memory"),
  /** Addresses apart from physical memory. */
  VIRTUAL_MEMORY("virtual memory"),
  /** Physical memory by file descriptor. */
  FILE_DESCRIPTORS("memory by file descriptor"),
  /** Ranges as dma-buf descriptors. */
  DMA_BUF("dma-buf export"),
  /** The device that a stream belongs to. */
  STREAM_DEVICE("a stream's device"),
  /** Copies by the device's own cores. */
  KERNEL_COPY("kernel copies");

  private final String words;

  HipFeature(String words) {
    this.words = words;
  }

  /** For the transcript. */
  String words() {
    return words;
  }
}
