package io.holdfast.internal.extensible;

import io.holdfast.device.DmaBufExport;
import io.holdfast.internal.tree.Standing;
import io.holdfast.layout.Bytes;
import io.holdfast.spi.DeviceRange;
import io.holdfast.spi.HostKernel.FileHandle;
import java.util.Locale;

/** A dma-buf of a range of a region, until closed. */
final class StandardDmaBuf extends Standing implements DmaBufExport {
  private final StandardRegion region;
  private final FileHandle file;
  private final long offsetBytes;
  private final long bytes;

  private StandardDmaBuf(StandardRegion region, FileHandle file, long offsetBytes, long bytes) {
    super(String.format(Locale.ROOT, "dma-buf of %d bytes of %s", bytes, region.name()), region);
    this.region = region;
    this.file = file;
    this.offsetBytes = offsetBytes;
    this.bytes = bytes;
  }

  /**
   * Under the region's lock. The range is widened to whole host pages, which lie in the allocation:
   * granules are pages.
   */
  static StandardDmaBuf open(
      StandardRegion region, PagedBacking pages, int segment, long address, long bytes) {
    long page = region.core().backend().kernel().basePageBytes();
    long base = pages.address(segment);
    long from = Bytes.roundDown(address - base, page);
    long to = Bytes.roundUp(address - base + bytes, page);
    DeviceRange whole = new DeviceRange(base + from, to - from);
    FileHandle file = new FileHandle(pages.vmm().exportDmaBuf(whole));
    try {
      StandardDmaBuf export =
          enrolled(new StandardDmaBuf(region, file, address - base - from, whole.bytes()));
      region.opened(export);
      return export;
    } catch (RuntimeException | Error failure) {
      region.core().backend().kernel().close(file);
      throw failure;
    }
  }

  @Override
  public int fileDescriptor() {
    requireOpen();
    return file.descriptor();
  }

  @Override
  public long offsetBytes() {
    return offsetBytes;
  }

  @Override
  public long bytes() {
    return bytes;
  }

  @Override
  protected void release() {
    try {
      region.core().backend().kernel().close(file);
    } finally {
      region.ended(this);
    }
  }
}
