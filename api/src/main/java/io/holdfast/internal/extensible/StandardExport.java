package io.holdfast.internal.extensible;

import io.holdfast.device.ExportedRegion;
import io.holdfast.device.HandleKind;
import io.holdfast.device.RegionDescriptor;
import io.holdfast.device.RegionDescriptor.Share;
import io.holdfast.device.ShareableHandle;
import io.holdfast.internal.tree.Standing;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.HostKernel.FileHandle;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;

/** The handles of a region's segments, until closed. */
final class StandardExport extends Standing implements ExportedRegion {
  private static final int FABRIC_BYTES = 64;

  private final StandardRegion region;
  private final RegionDescriptor descriptor;
  private final List<ShareableHandle> handles;

  private StandardExport(
      StandardRegion region, RegionDescriptor descriptor, List<ShareableHandle> handles) {
    super("export by " + descriptor.kind() + " of " + region.name(), region);
    this.region = region;
    this.descriptor = descriptor;
    this.handles = List.copyOf(handles);
  }

  /** Under the region's lock: the pages cannot change between. */
  static StandardExport open(
      StandardRegion region, PagedBacking pages, HandleKind kind, long epoch, long blocks) {
    HostKernel kernel = region.core().backend().kernel();
    List<ShareableHandle> handles = new ArrayList<>();
    List<Share> shares = new ArrayList<>();
    try {
      for (int segment = 0; segment < region.plan().segments().size(); segment++) {
        SegmentPlan.Row row = region.plan().segments().get(segment);
        Chunk chunk = pages.only(segment);
        long logical = row.viewBytes(blocks);
        switch (kind) {
          case POSIX_FD -> {
            int descriptor = pages.vmm().exportFileDescriptor(chunk.handle);
            handles.add(new ShareableHandle(kind, descriptor, chunk.bytes));
            shares.add(Share.ofFile(chunk.bytes, logical, row.strideBytes(), descriptor));
          }
          case FABRIC -> {
            byte[] bytes = fabricHandle(pages, chunk);
            handles.add(new ShareableHandle(kind, -1, chunk.bytes));
            shares.add(Share.ofFabric(chunk.bytes, logical, row.strideBytes(), bytes));
          }
        }
      }
      StandardExport export =
          enrolled(
              new StandardExport(
                  region,
                  RegionDescriptor.ofThisProcess(
                      kind, region.device().uuid(), epoch, blocks, shares),
                  handles));
      region.opened(export);
      return export;
    } catch (RuntimeException | Error failure) {
      close(kernel, handles, failure);
      throw failure;
    }
  }

  private static byte[] fabricHandle(PagedBacking pages, Chunk chunk) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment bytes = arena.allocate(FABRIC_BYTES, Long.BYTES);
      pages.vmm().exportFabric(chunk.handle, bytes);
      return bytes.toArray(ValueLayout.JAVA_BYTE);
    }
  }

  private static void close(HostKernel kernel, List<ShareableHandle> handles, Throwable failure) {
    for (ShareableHandle handle : handles) {
      if (handle.kind() == HandleKind.POSIX_FD) {
        try {
          kernel.close(new FileHandle(handle.fileDescriptor()));
        } catch (RuntimeException worse) {
          failure.addSuppressed(worse);
        }
      }
    }
  }

  @Override
  public List<ShareableHandle> handles() {
    requireOpen();
    return handles;
  }

  @Override
  public RegionDescriptor descriptor() {
    requireOpen();
    return descriptor;
  }

  @Override
  protected void release() {
    IllegalStateException failure =
        new IllegalStateException("descriptors of " + name() + " could not be closed");
    close(region.core().backend().kernel(), handles, failure);
    region.ended(this);
    if (failure.getSuppressed().length > 0) {
      throw failure;
    }
  }
}
