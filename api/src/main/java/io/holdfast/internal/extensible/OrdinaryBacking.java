package io.holdfast.internal.extensible;

import io.holdfast.device.ExtensibleRegion.Contents;
import io.holdfast.device.Support;
import io.holdfast.error.UnsupportedException;
import io.holdfast.internal.core.CoreDevice;
import io.holdfast.layout.Bytes;
import io.holdfast.spi.DeviceRange;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * One ordinary allocation of full size, for drivers without virtual memory. It behaves like pages
 * that are all there from the start: nothing grows and nothing returns, and the notes say so.
 */
final class OrdinaryBacking implements Backing {
  /** A page, so that no segment's first vector load straddles one. */
  private static final long SEGMENT_ALIGNMENT_BYTES = 4096;

  private final CoreDevice device;
  private final ChangeStream stream;
  private final SegmentPlan plan;
  private final DeviceRange allocation;
  private final List<Long> addresses;
  private final String note;

  private OrdinaryBacking(
      CoreDevice device,
      ChangeStream stream,
      SegmentPlan plan,
      DeviceRange allocation,
      List<Long> addresses,
      String note) {
    this.device = device;
    this.stream = stream;
    this.plan = plan;
    this.allocation = allocation;
    this.addresses = List.copyOf(addresses);
    this.note = note;
  }

  static OrdinaryBacking allocate(
      CoreDevice device, ChangeStream stream, SegmentPlan plan, String reason) {
    List<Long> offsets = new ArrayList<>();
    long bytes = 0;
    for (SegmentPlan.Row row : plan.segments()) {
      offsets.add(bytes);
      bytes =
          Bytes.roundUp(Math.addExact(bytes, row.bytes(plan.capacity())), SEGMENT_ALIGNMENT_BYTES);
    }
    DeviceRange allocation = device.port().allocate(bytes);
    return new OrdinaryBacking(
        device,
        stream,
        plan,
        allocation,
        offsets.stream().map(offset -> allocation.address() + offset).toList(),
        "an ordinary allocation of " + bytes + " bytes stands in: " + reason);
  }

  private Outcome zero(long from, long to) {
    try {
      for (int segment = 0; segment < addresses.size(); segment++) {
        SegmentPlan.Row row = plan.segments().get(segment);
        stream.zero(
            new DeviceRange(
                addresses.get(segment) + row.bytes(from), row.bytes(to) - row.bytes(from)));
      }
      stream.await();
      return new Outcome.Done();
    } catch (RuntimeException | Error failure) {
      stream.awaitQuietly(failure);
      return new Outcome.Refused(failure);
    }
  }

  @Override
  public Outcome grow(long from, long to) {
    return zero(from, to);
  }

  @Override
  public Outcome shrink(long from, long to) {
    return zero(0, to);
  }

  @Override
  public boolean isConsolidated(long blocks) {
    return true;
  }

  @Override
  public Outcome consolidate(long from, long to, Contents contents) {
    return zero(from, to);
  }

  @Override
  public Outcome release() {
    requireReleasable();
    return new Outcome.Done();
  }

  @Override
  public Outcome wake(long blocks) {
    return zero(0, blocks);
  }

  @Override
  public void requireReleasable() {
    throw new UnsupportedException(
        "giving physical memory back and keeping the addresses",
        note,
        "Close the region, or use a driver with virtual memory");
  }

  @Override
  public long address(int segment) {
    return addresses.get(segment);
  }

  @Override
  public List<Integer> handlesPerSegment() {
    return Collections.nCopies(addresses.size(), 0);
  }

  @Override
  public long physicalBytes() {
    return allocation.bytes();
  }

  @Override
  public long owedBytes() {
    return 0;
  }

  @Override
  public boolean isForOthers() {
    return false;
  }

  @Override
  public Support rdmaCapable() {
    return new Support.Unsupported(note, FormChoice.RDMA_REMEDY);
  }

  @Override
  public List<String> notes() {
    return List.of(note);
  }

  @Override
  public void close() {
    device.port().free(allocation);
  }
}
