package io.holdfast.internal.copy;

import io.holdfast.device.DeviceBlocks;
import io.holdfast.device.DevicePlane;
import io.holdfast.internal.Segment;
import io.holdfast.internal.SegmentOwner;
import io.holdfast.layout.BlockLayout;
import io.holdfast.layout.Plane;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * Where each part of a block lies on both sides, as plain numbers. Immutable.
 *
 * <p>Parts that lie back to back in every block on both sides, as in rows of block-major layouts,
 * are one part here: fewer and longer copies.
 */
final class Geometry {
  private static final Geometry NOTHING = new Geometry(List.of(), List.of(), List.of(), List.of());

  final int parts;
  final long[] partBytes;
  final long[] deviceBase;
  final long[] deviceStride;
  final long[] hostBase;
  final long[] hostStride;

  /** Whether neighbours of the part touch on both sides, so that runs of blocks are one copy. */
  final boolean[] dense;

  final boolean anyDense;
  final boolean allDense;

  /** From a block's part to the next block's, before parts were folded. */
  final List<Long> deviceStrides;

  /** Whose memory it is; entered by each submission. */
  final SegmentOwner[] owners;

  private Geometry(
      List<Long> bytes, List<DevicePlane> device, List<Plane> host, List<SegmentOwner> owners) {
    int folded = bytes.size();
    partBytes = new long[folded];
    deviceBase = new long[folded];
    deviceStride = new long[folded];
    hostBase = new long[folded];
    hostStride = new long[folded];
    dense = new boolean[folded];
    boolean any = false;
    boolean all = true;
    int to = -1;
    for (int from = 0; from < bytes.size(); from++) {
      long base = device.get(from).memory().rawAddress();
      if (to >= 0 && continues(to, base, device.get(from), host.get(from))) {
        partBytes[to] += bytes.get(from);
      } else {
        to++;
        partBytes[to] = bytes.get(from);
        deviceBase[to] = base;
        deviceStride[to] = device.get(from).strideBytes();
        hostBase[to] = host.get(from).offsetBytes();
        hostStride[to] = host.get(from).strideBytes();
      }
    }
    parts = to + 1;
    for (int part = 0; part < parts; part++) {
      dense[part] = deviceStride[part] == partBytes[part] && hostStride[part] == partBytes[part];
      any |= dense[part];
      all &= dense[part];
    }
    anyDense = any;
    allDense = all;
    deviceStrides = device.stream().map(DevicePlane::strideBytes).toList();
    this.owners = owners.toArray(SegmentOwner[]::new);
  }

  /**
   * Whether a part starts where the one before ends, in the same row. A device plane of two blocks
   * or more reaches over its next block's start, so a part inside its stride is of the same
   * allocation; a plane of one block proves nothing and is never folded.
   */
  private boolean continues(int to, long base, DevicePlane device, Plane host) {
    return device.memory().byteSize() > device.strideBytes()
        && device.strideBytes() == deviceStride[to]
        && base == deviceBase[to] + partBytes[to]
        && base < deviceBase[to] + deviceStride[to]
        && host.strideBytes() == hostStride[to]
        && host.offsetBytes() == hostBase[to] + partBytes[to]
        && host.offsetBytes() < hostBase[to] + hostStride[to];
  }

  /** For blocks of which there are none yet: every id is out of range. */
  static Geometry nothing() {
    return NOTHING;
  }

  /**
   * Looks where everything is now.
   *
   * @param device one side, with at least one block
   * @param host the other side
   * @throws IllegalStateException when device memory is closed
   * @throws io.holdfast.device.StaleException when a fixed view is older than the pages
   */
  static Geometry of(DeviceBlocks device, BlockLayout host) {
    List<Long> bytes = device.shape().partBytes();
    List<DevicePlane> planes = new ArrayList<>(bytes.size());
    Set<SegmentOwner> owners = new LinkedHashSet<>();
    for (int part = 0; part < bytes.size(); part++) {
      DevicePlane plane = device.plane(part);
      planes.add(plane);
      owners.add(ownerOf(plane));
    }
    return new Geometry(bytes, planes, host.planes(), List.copyOf(owners));
  }

  static SegmentOwner ownerOf(DevicePlane plane) {
    return ((Segment) plane.memory()).owner();
  }
}
