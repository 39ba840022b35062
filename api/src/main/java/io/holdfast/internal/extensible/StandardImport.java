package io.holdfast.internal.extensible;

import io.holdfast.device.DeviceSegment;
import io.holdfast.device.HandleKind;
import io.holdfast.device.ImportedRegion;
import io.holdfast.device.RegionDescriptor;
import io.holdfast.device.RegionDescriptor.Share;
import io.holdfast.error.BusyException;
import io.holdfast.error.Errno;
import io.holdfast.error.HostKernelException;
import io.holdfast.error.UnsupportedException;
import io.holdfast.internal.Segment;
import io.holdfast.internal.SegmentOwner;
import io.holdfast.internal.core.CoreDevice;
import io.holdfast.internal.tree.Standing;
import io.holdfast.internal.tree.UseCount;
import io.holdfast.spi.DeviceRange;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.HostKernel.FileHandle;
import io.holdfast.spi.PhysicalHandle;
import io.holdfast.spi.VirtualMemoryPort;
import io.holdfast.spi.VirtualMemoryPort.PhysicalForm;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;

/** Another process's memory under addresses of ours. */
final class StandardImport extends Standing implements ImportedRegion, SegmentOwner {
  private final CoreDevice device;
  private final List<Mapping> mappings;
  private final UseCount uses = new UseCount();

  private StandardImport(CoreDevice device, List<Mapping> mappings) {
    super(
        "imported region of "
            + mappings.size()
            + " segments at 0x"
            + Long.toHexString(mappings.getFirst().range.address()),
        device.standing());
    this.device = device;
    this.mappings = List.copyOf(mappings);
  }

  static StandardImport open(CoreDevice device, RegionDescriptor descriptor) {
    VirtualMemoryPort port =
        device
            .port()
            .virtualMemory()
            .orElseThrow(
                () ->
                    new UnsupportedException(
                        "importing device memory",
                        "the driver has no virtual memory for device " + device.info().ordinal(),
                        ""));
    if (descriptor.kind() == HandleKind.FABRIC && port.fabric().isEmpty()) {
      throw new UnsupportedException(
          "importing by FABRIC",
          "the driver has no fabric handles for device " + device.info().ordinal(),
          "Let the other side export by POSIX_FD, on the same host");
    }
    requireSameDevice(device, descriptor);
    VirtualMemory vmm = new VirtualMemory(device, port);
    List<Mapping> mappings = new ArrayList<>();
    try {
      for (Share share : descriptor.shares()) {
        Mapping mapping = new Mapping(vmm, share.logicalBytes());
        mappings.add(mapping);
        mapping.fill(device.backend().kernel(), descriptor, share);
      }
      return enrolled(new StandardImport(device, mappings));
    } catch (RuntimeException | Error failure) {
      for (Mapping mapping : mappings.reversed()) {
        mapping.giveBack(failure);
      }
      throw failure;
    }
  }

  private static void requireSameDevice(CoreDevice device, RegionDescriptor descriptor) {
    String mine = device.info().uuid();
    String theirs = descriptor.deviceUuid();
    if (!mine.isEmpty() && !theirs.isEmpty() && !mine.equals(theirs)) {
      throw new IllegalArgumentException(
          "the memory is on device " + theirs + ", and this is " + mine + ": import it there");
    }
  }

  @Override
  public int segments() {
    return mappings.size();
  }

  @Override
  public DeviceSegment segment(int index) {
    requireOpen();
    Mapping mapping = mappings.get(Objects.checkIndex(index, mappings.size()));
    return new Segment(device.info(), mapping.range.address(), mapping.logicalBytes, this);
  }

  @Override
  public void requireUsable() {
    requireOpen();
  }

  @Override
  public Standing standing() {
    return this;
  }

  @Override
  public UseCount uses() {
    return uses;
  }

  @Override
  protected void shut() {
    uses.shut();
  }

  @Override
  protected void reopen() {
    uses.reopen();
  }

  @Override
  protected void quiesce() {
    if (!uses.awaitUnused(TimeUnit.MINUTES.toNanos(1))) {
      throw new BusyException(
          "closing " + name(), List.of(uses.uses() + " copies that do not end"));
    }
  }

  @Override
  protected void release() {
    device
        .workers()
        .run(
            () -> {
              IllegalStateException failure =
                  new IllegalStateException(name() + " could not be given back as a whole");
              for (Mapping mapping : mappings.reversed()) {
                mapping.giveBack(failure);
              }
              if (failure.getSuppressed().length > 0) {
                throw failure;
              }
            });
  }

  /** One segment: a reference to the allocation, addresses, and one under the other. */
  private static final class Mapping {
    private final VirtualMemory vmm;
    private final long logicalBytes;
    private DeviceRange range = new DeviceRange(0, 0);
    private PhysicalHandle handle = new PhysicalHandle(0);
    private int rung;

    Mapping(VirtualMemory vmm, long logicalBytes) {
      this.vmm = vmm;
      this.logicalBytes = logicalBytes;
    }

    void fill(HostKernel kernel, RegionDescriptor descriptor, Share share) {
      switch (descriptor.kind()) {
        case FABRIC -> {
          try (Arena arena = Arena.ofConfined()) {
            byte[] bytes = share.fabricBytes();
            MemorySegment segment = arena.allocate(bytes.length, Long.BYTES);
            MemorySegment.copy(bytes, 0, segment, ValueLayout.JAVA_BYTE, 0, bytes.length);
            handle = vmm.importFabric(segment);
          }
          map(share);
        }
        case POSIX_FD -> {
          if (descriptor.isOfThisProcess()) {
            handle = vmm.importFileDescriptor(share.fileDescriptor());
            map(share);
            return;
          }
          FileHandle taken = take(kernel, descriptor.exporterPid(), share.fileDescriptor());
          try {
            handle = vmm.importFileDescriptor(taken.descriptor());
            map(share);
          } finally {
            kernel.close(taken); // not before access is set: some drivers read it until then
          }
        }
      }
    }

    private void map(Share share) {
      rung = 1;
      long granuleBytes = vmm.granuleBytes(PhysicalForm.plain());
      range = vmm.reserve(share.physicalBytes(), granuleBytes);
      rung = 2;
      vmm.map(range, handle);
      rung = 3;
      vmm.allowAccess(range);
    }

    /** Down the ladder; a refused rung leaves those below, which stand on it. */
    void giveBack(Throwable failure) {
      try {
        if (rung == 3) {
          vmm.unmap(range);
          rung = 2;
        }
        if (rung == 2) {
          vmm.freeAddresses(range);
          rung = 1;
        }
        if (rung == 1) {
          vmm.release(handle);
          rung = 0;
        }
      } catch (RuntimeException worse) {
        failure.addSuppressed(worse);
      }
    }

    private static FileHandle take(HostKernel kernel, long pid, int descriptor) {
      if (pid == ProcessHandle.current().pid()) {
        throw new UnsupportedException(
            "taking a file descriptor of process " + pid,
            "that is this process's own number, and another process exported the memory: it lives"
                + " in another PID namespace",
            "Send the descriptors over a Unix socket and use RegionDescriptor.received");
      }
      try {
        return kernel.takeFrom(pid, descriptor);
      } catch (HostKernelException refusal) {
        UnsupportedException clear = clearer(refusal, pid, descriptor);
        clear.addSuppressed(refusal);
        throw clear;
      }
    }

    private static UnsupportedException clearer(
        HostKernelException refusal, long pid, int descriptor) {
      String operation = "taking file descriptor " + descriptor + " of process " + pid;
      if (refusal.is(Errno.EPERM)) {
        return new UnsupportedException(
            operation,
            "this process has no right to trace that one (EPERM)",
            "Run both as one user with kernel.yama.ptrace_scope=0, or grant CAP_SYS_PTRACE, or let"
                + " the exporter call prctl(PR_SET_PTRACER), or send the descriptors over a Unix"
                + " socket and use RegionDescriptor.received");
      }
      if (refusal.is(Errno.ESRCH)) {
        return new UnsupportedException(
            operation,
            "there is no such process here (ESRCH): it ended, or lives in another PID namespace",
            "Keep the export open until the import is done, in one PID namespace");
      }
      if (refusal.is(Errno.EBADF)) {
        return new UnsupportedException(
            operation,
            "it has no such descriptor (EBADF): the export was closed, or another process has that"
                + " number here",
            "Keep the export open until the import is done, in one PID namespace");
      }
      return new UnsupportedException(
          operation,
          refusal.errnoName(),
          "Send the descriptors over a Unix socket and use" + " RegionDescriptor.received");
    }
  }
}
