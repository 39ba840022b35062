package io.holdfast.internal.extensible;

import io.holdfast.device.Sizing;
import io.holdfast.device.Support;
import io.holdfast.error.DriverException;
import io.holdfast.error.HoldfastException;
import io.holdfast.error.UnsupportedException;
import io.holdfast.internal.core.CoreDevice;
import io.holdfast.spi.DeviceRange;
import io.holdfast.spi.PhysicalHandle;
import io.holdfast.spi.VirtualMemoryPort;
import io.holdfast.spi.VirtualMemoryPort.PhysicalForm;
import io.holdfast.spi.VirtualMemoryPort.RdmaWish;
import java.util.Optional;

/** Grows by two granules, uses them, and leaves nothing behind. */
final class Trial {
  private static final int CHUNKS = 2;
  private static final String REMEDY =
      "Let the request prefer virtual memory, or use a newer driver (WSL2 has none; HIP needs 6.1)";

  private Trial() {}

  /** Whether it works on a device at all. */
  static Support support(CoreDevice device) {
    Optional<VirtualMemoryPort> port = device.port().virtualMemory();
    if (port.isEmpty()) {
      return new Support.Unsupported(
          "the driver has no virtual memory for device " + device.info().ordinal(), REMEDY);
    }
    try {
      VirtualMemory vmm = new VirtualMemory(device, port.get());
      ChangeStream stream = new ChangeStream(device);
      try {
        long granuleBytes = Sizing.granuleBytes(vmm.granuleBytes(PhysicalForm.plain()));
        run(vmm, stream, granuleBytes, PhysicalForm.plain());
        return new Support.Supported();
      } finally {
        stream.close();
      }
    } catch (DriverException | UnsupportedException refusal) {
      return new Support.Unsupported(
          "growing by two granules failed: " + refusal.getMessage(), remedy(refusal));
    }
  }

  private static String remedy(HoldfastException refusal) {
    return refusal.remedy().isEmpty() ? REMEDY : refusal.remedy();
  }

  /**
   * Maps two allocations of one granule behind one another, sets access over the growing prefix,
   * and zeroes both.
   *
   * @return whether a network card can read them, where that was asked for
   */
  static boolean run(VirtualMemory vmm, ChangeStream stream, long granuleBytes, PhysicalForm form) {
    DeviceRange range = vmm.reserve(CHUNKS * granuleBytes, granuleBytes);
    if (range.address() == 0) {
      throw new UnsupportedException(
          "reserving device addresses", "the driver says it did and names none", REMEDY);
    }
    Debts debts = new Debts();
    PhysicalHandle[] handles = new PhysicalHandle[CHUNKS];
    int created = 0;
    int mapped = 0;
    boolean readable = form.rdma() == RdmaWish.YES;
    Throwable failure = null;
    try {
      for (int chunk = 0; chunk < CHUNKS; chunk++) {
        handles[chunk] = vmm.create(granuleBytes, form);
        created++;
        DeviceRange at = new DeviceRange(range.address() + chunk * granuleBytes, granuleBytes);
        vmm.map(at, handles[chunk]);
        mapped++;
        vmm.allowAccess(new DeviceRange(range.address(), (chunk + 1) * granuleBytes));
        readable = readable && vmm.rdmaCapable(at);
      }
      stream.zero(range);
      stream.await();
    } catch (RuntimeException | Error refused) {
      stream.awaitQuietly(refused);
      failure = refused;
    }
    for (int chunk = created - 1; chunk >= 0; chunk--) {
      DeviceRange at = new DeviceRange(range.address() + chunk * granuleBytes, granuleBytes);
      PhysicalHandle handle = handles[chunk];
      Runnable release = () -> vmm.release(handle);
      if (chunk < mapped) {
        debts.settleOrOwe("", granuleBytes, () -> vmm.unmap(at), release);
      } else {
        debts.settleOrOwe("", granuleBytes, release);
      }
    }
    RuntimeException left = debts.settle();
    if (left == null) {
      debts.settleOrOwe("", 0, () -> vmm.freeAddresses(range));
      left = debts.settle();
    }
    if (failure == null) {
      failure = left;
    } else if (left != null) {
      failure.addSuppressed(left);
    }
    if (failure instanceof Error error) {
      throw error;
    }
    if (failure instanceof RuntimeException exception) {
      throw exception;
    }
    return readable;
  }
}
