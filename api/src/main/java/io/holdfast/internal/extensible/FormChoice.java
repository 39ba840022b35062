package io.holdfast.internal.extensible;

import io.holdfast.device.Demand;
import io.holdfast.device.ExtensibleRequest;
import io.holdfast.device.HandleKind;
import io.holdfast.device.Sizing;
import io.holdfast.device.Support;
import io.holdfast.error.DriverException;
import io.holdfast.error.DriverFault;
import io.holdfast.error.UnsupportedException;
import io.holdfast.spi.VirtualMemoryPort.PhysicalForm;
import io.holdfast.spi.VirtualMemoryPort.RdmaWish;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/**
 * The form that a region's physical memory is created in, fixed before anything is committed: what
 * the driver reports, and what it really grants when asked once.
 *
 * @param form what is asked for at each creation
 * @param granuleBytes what that form is a multiple of
 * @param rdma how much it counted that a network card can read the memory
 * @param rdmaCapable whether one can
 * @param notes fallbacks, each with its reason
 */
record FormChoice(
    PhysicalForm form, long granuleBytes, Demand rdma, Support rdmaCapable, List<String> notes) {
  static final String RDMA_REMEDY =
      "Use a driver and a device with GPUDirect RDMA for virtual memory, or ask for less";

  private static final String EXPORT_REMEDY =
      "Use a driver that exports physical memory, or ask for less";

  /**
   * Chooses; wishes are tried with two granules that are given back.
   *
   * @throws UnsupportedException where something required is not granted
   */
  static FormChoice choose(VirtualMemory vmm, ChangeStream stream, ExtensibleRequest request) {
    List<String> notes = new ArrayList<>();
    List<PhysicalForm> candidates = candidates(vmm, request, notes);
    for (int i = 0; i < candidates.size(); i++) {
      PhysicalForm form = candidates.get(i);
      try {
        long granuleBytes = Sizing.granuleBytes(vmm.granuleBytes(form));
        boolean plain = form.equals(PhysicalForm.plain());
        boolean readable = !plain && Trial.run(vmm, stream, granuleBytes, form);
        return new FormChoice(
            form,
            granuleBytes,
            request.rdma(),
            rdmaCapable(request, form, readable, notes),
            List.copyOf(notes));
      } catch (DriverException refusal) {
        if (form.equals(PhysicalForm.plain()) || !isAboutTheForm(refusal)) {
          throw refusal;
        }
        String reason = "the driver refuses memory " + words(form) + ": " + refusal.getMessage();
        if (i + 1 == candidates.size()) {
          throw unsupported(request, form, reason);
        }
        notes.add(reason + "; made " + words(candidates.get(i + 1)) + " instead");
      }
    }
    throw new AssertionError("there is always a candidate");
  }

  /** The granule of the best form, for sizing before anything is reserved. */
  static long granuleBytes(VirtualMemory vmm, ExtensibleRequest request) {
    PhysicalForm best = candidates(vmm, request, new ArrayList<>()).getFirst();
    return Sizing.granuleBytes(vmm.granuleBytes(best));
  }

  /** From the most that was wished down to what is required; never empty. */
  private static List<PhysicalForm> candidates(
      VirtualMemory vmm, ExtensibleRequest request, List<String> notes) {
    List<Set<HandleKind>> kinds = new ArrayList<>();
    if (request.shareable() != Demand.OFF) {
      Set<HandleKind> reported = EnumSet.noneOf(HandleKind.class);
      reported.addAll(vmm.port().exportableKinds());
      if (vmm.port().fabric().isEmpty()) {
        reported.remove(HandleKind.FABRIC);
      }
      if (reported.isEmpty()) {
        String reason = "the driver reports no handle that another process could import";
        if (request.shareable() == Demand.REQUIRE) {
          throw new UnsupportedException("sharing device memory", reason, EXPORT_REMEDY);
        }
        notes.add(reason);
      } else {
        kinds.add(reported);
        if (reported.size() > 1) {
          kinds.add(Set.of(HandleKind.POSIX_FD)); // fabric where it is granted
        }
      }
    }
    if (request.shareable() != Demand.REQUIRE) {
      kinds.add(Set.of());
    }
    List<RdmaWish> wishes = new ArrayList<>();
    if (request.rdma() != Demand.OFF) {
      if (vmm.port().rdmaPossible()) {
        wishes.add(RdmaWish.YES);
      } else {
        String reason = "the driver reports that no network card can read virtual memory here";
        if (request.rdma() == Demand.REQUIRE) {
          throw new UnsupportedException("reading by network cards", reason, RDMA_REMEDY);
        }
        notes.add(reason);
      }
    }
    if (request.rdma() != Demand.REQUIRE) {
      wishes.add(RdmaWish.NO);
    }
    List<PhysicalForm> candidates = new ArrayList<>();
    for (Set<HandleKind> exports : kinds) {
      for (RdmaWish wish : wishes) {
        candidates.add(new PhysicalForm(exports, wish));
      }
    }
    return candidates;
  }

  private static Support rdmaCapable(
      ExtensibleRequest request, PhysicalForm form, boolean readable, List<String> notes) {
    if (request.rdma() == Demand.OFF) {
      return new Support.Unsupported("it was not asked for", "Ask for it in the request");
    }
    if (readable) {
      return new Support.Supported();
    }
    String reason =
        form.rdma() == RdmaWish.YES
            ? "the driver denies it of memory that was created for it"
            : notes.getLast();
    if (request.rdma() == Demand.REQUIRE) {
      throw new UnsupportedException("reading by network cards", reason, RDMA_REMEDY);
    }
    if (form.rdma() == RdmaWish.YES) {
      notes.add("no network card can read this memory: " + reason);
    }
    return new Support.Unsupported(reason, RDMA_REMEDY);
  }

  private static UnsupportedException unsupported(
      ExtensibleRequest request, PhysicalForm form, String reason) {
    return request.rdma() == Demand.REQUIRE && form.rdma() == RdmaWish.YES
        ? new UnsupportedException("reading by network cards", reason, RDMA_REMEDY)
        : new UnsupportedException("sharing device memory", reason, EXPORT_REMEDY);
  }

  /** Whether another form can fare better; a full or lost device fares no better. */
  private static boolean isAboutTheForm(DriverException refusal) {
    return refusal.fault() != DriverFault.OUT_OF_MEMORY
        && refusal.fault() != DriverFault.DEVICE_LOST
        && refusal.fault() != DriverFault.SHUTTING_DOWN
        && refusal.fault() != DriverFault.CAPTURE;
  }

  private static String words(PhysicalForm form) {
    List<String> parts = new ArrayList<>();
    for (HandleKind kind : HandleKind.values()) {
      if (form.exports().contains(kind)) {
        parts.add(kind.name());
      }
    }
    if (form.rdma() == RdmaWish.YES) {
      parts.add("RDMA");
    }
    return parts.isEmpty() ? "for this process alone" : "with " + String.join(" and ", parts);
  }
}
