package io.holdfast.device;

/** What a device and its driver may or may not be able to do. */
public enum Capability {
  /** Many copies in one driver call. */
  BATCH_COPY,
  /** Copies driven by the device's own cores. */
  KERNEL_COPY,
  /** Copies of regular rows in one call. */
  PITCHED_COPY,
  /** Host memory that the driver allocates itself. */
  DRIVER_HOST_MEMORY,
  /** Address ranges apart from physical memory. */
  VIRTUAL_MEMORY,
  /** Physical memory that another process can import through a file descriptor. */
  EXPORT_POSIX_FD,
  /** Physical memory that another host can import through the fabric. */
  EXPORT_FABRIC,
  /** Ranges that can be named by a dma-buf descriptor. */
  EXPORT_DMA_BUF,
  /** Physical memory that a network card can read. */
  RDMA
}
