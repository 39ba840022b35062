package io.holdfast.internal.extensible;

import io.holdfast.device.Demand;
import io.holdfast.device.ExtensibleRegion;
import io.holdfast.device.ExtensibleRequest;
import io.holdfast.device.ImportedRegion;
import io.holdfast.device.RegionDescriptor;
import io.holdfast.device.Sizing;
import io.holdfast.device.Support;
import io.holdfast.error.UnsupportedException;
import io.holdfast.internal.core.CoreDevice;
import io.holdfast.internal.tree.Standing;
import io.holdfast.spi.VirtualMemoryPort;
import java.util.Objects;

/** Makes extensible regions, and imports those of others. */
public final class ExtensibleRegions {
  private static final System.Logger LOG = System.getLogger(ExtensibleRegions.class.getName());

  private ExtensibleRegions() {}

  /**
   * Takes the address range for a capacity.
   *
   * @param device whose
   * @param request what for
   * @return the region
   */
  public static ExtensibleRegion reserve(CoreDevice device, ExtensibleRequest request) {
    Objects.requireNonNull(request, "request");
    return device.workers().call(() -> open(device, request));
  }

  private static ExtensibleRegion open(CoreDevice device, ExtensibleRequest request) {
    String standIn = whyOrdinary(device, request);
    if (!standIn.isEmpty()) {
      requireNothingElse(request, standIn);
      LOG.log(System.Logger.Level.WARNING, "an ordinary allocation stands in: " + standIn);
    }
    ChangeStream stream = new ChangeStream(device);
    try {
      SegmentPlan plan;
      Backing backing;
      if (standIn.isEmpty()) {
        VirtualMemory vmm = new VirtualMemory(device, port(device));
        FormChoice form = FormChoice.choose(vmm, stream, request);
        plan = SegmentPlan.of(request.capacity(), form.granuleBytes());
        backing = PagedBacking.reserve(vmm, stream, plan, form);
      } else {
        plan = SegmentPlan.of(request.capacity(), Sizing.granuleBytes(1));
        backing = OrdinaryBacking.allocate(device, stream, plan, standIn);
      }
      try {
        if (request.virtualMemory() != Demand.OFF) {
          backing.notes().forEach(device.journal()::fallback);
        }
        return Standing.enrolled(
            new StandardRegion(device, request.capacity(), plan, backing, stream));
      } catch (RuntimeException | Error failure) {
        backing.close();
        throw failure;
      }
    } catch (RuntimeException | Error failure) {
      stream.close();
      throw failure;
    }
  }

  /** Why there is no virtual memory, or empty where there is. */
  private static String whyOrdinary(CoreDevice device, ExtensibleRequest request) {
    return switch (request.virtualMemory()) {
      case REQUIRE -> "";
      case OFF -> "virtual memory was not asked for";
      case PREFER -> Trial.support(device) instanceof Support.Unsupported no ? no.reason() : "";
    };
  }

  private static void requireNothingElse(ExtensibleRequest request, String standIn) {
    if (request.shareable() == Demand.REQUIRE || request.rdma() == Demand.REQUIRE) {
      throw new UnsupportedException(
          request.shareable() == Demand.REQUIRE
              ? "sharing device memory"
              : "reading by network cards",
          "an ordinary allocation would stand in: " + standIn,
          "Require less, or use a driver with virtual memory");
    }
  }

  private static VirtualMemoryPort port(CoreDevice device) {
    return device
        .port()
        .virtualMemory()
        .orElseThrow(
            () ->
                new UnsupportedException(
                    "extensible device memory",
                    "the driver has no virtual memory for device " + device.info().ordinal(),
                    "Let the request prefer virtual memory, or use a driver that has it"));
  }

  /**
   * What physical memory for a request is a multiple of.
   *
   * @param device whose
   * @param request the exact properties
   * @return bytes
   */
  public static long granuleBytes(CoreDevice device, ExtensibleRequest request) {
    Objects.requireNonNull(request, "request");
    VirtualMemory vmm = new VirtualMemory(device, port(device));
    return device.workers().call(() -> FormChoice.granuleBytes(vmm, request));
  }

  /**
   * Whether it works here: tried, nothing is left behind.
   *
   * @param device whose
   * @return yes, or the reason
   */
  public static Support support(CoreDevice device) {
    return device.workers().call(() -> Trial.support(device));
  }

  /**
   * Maps memory that another process exported.
   *
   * @param device where
   * @param descriptor which
   * @return the memory
   */
  public static ImportedRegion importRegion(CoreDevice device, RegionDescriptor descriptor) {
    Objects.requireNonNull(descriptor, "descriptor");
    return device.workers().call(() -> StandardImport.open(device, descriptor));
  }
}
