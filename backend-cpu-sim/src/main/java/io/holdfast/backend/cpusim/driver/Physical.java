package io.holdfast.backend.cpusim.driver;

/** A physical allocation under one handle; guarded by the driver's lock. */
final class Physical {
  final long handle;
  final PhysicalMemory memory;
  final int handleTypes;
  final boolean rdma;
  final int locationType;
  final int locationId;
  int references = 1;

  Physical(
      long handle,
      PhysicalMemory memory,
      int handleTypes,
      boolean rdma,
      int locationType,
      int locationId) {
    this.handle = handle;
    this.memory = memory;
    this.handleTypes = handleTypes;
    this.rdma = rdma;
    this.locationType = locationType;
    this.locationId = locationId;
  }
}
