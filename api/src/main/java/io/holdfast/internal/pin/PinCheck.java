package io.holdfast.internal.pin;

import io.holdfast.host.HostRequest;
import io.holdfast.host.PageKind;
import io.holdfast.internal.Folders;
import io.holdfast.internal.core.CoreDevice;
import io.holdfast.layout.Bytes;
import io.holdfast.pin.PinRequest;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.HostKernel.DirectoryHandle;
import io.holdfast.spi.Traits;

/** Refuses what could not be pinned before it is mapped, hence before minutes of populating. */
public final class PinCheck {
  private PinCheck() {}

  /**
   * Plans for memory that is not there yet.
   *
   * @param device who would pin it
   * @param memory what would be mapped
   * @param request how it would be pinned
   * @throws io.holdfast.pin.NoPlanException no legal plan exists
   * @throws io.holdfast.pin.PinException a limit forbids it
   */
  public static void beforeMapping(CoreDevice device, HostRequest memory, PinRequest request) {
    HostKernel kernel = device.backend().kernel();
    long page = backingPageBytes(kernel, memory.pages());
    long mapped = Bytes.roundUp(memory.logicalBytes(), page);
    Traits traits = device.port().traits(page);
    PinPlan.of(traits, kernel, mapped, page, request);
    device.backend().pins().requireRoom(mapped, traits, request.ignoredBounds());
  }

  private static long backingPageBytes(HostKernel kernel, PageKind pages) {
    return switch (pages) {
      case PageKind.Base _, PageKind.TransparentHuge _, PageKind.Driver _ -> kernel.basePageBytes();
      case PageKind.HugeTlb huge -> huge.pageBytes();
      case PageKind.Directory in -> {
        DirectoryHandle directory = Folders.open(kernel, in);
        try {
          yield kernel.fileSystem(directory).blockBytes();
        } finally {
          kernel.close(directory);
        }
      }
    };
  }
}
