package io.holdfast.internal.copy;

import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.CopyException;
import io.holdfast.copy.CopyException.Descriptor;
import io.holdfast.copy.CopyRoute.Direction;
import io.holdfast.error.DriverException;
import io.holdfast.internal.pin.HostAddresses;
import io.holdfast.spi.CopyTable;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.PitchedCopyPort;
import io.holdfast.spi.StreamHandle;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * Copies pairs as rectangles: pairs whose ids go on by the same step on each side are rows of one
 * driver call, part after part.
 *
 * <p>A rectangle ends where a registration ends; a block that lies over that cut goes in pieces.
 * Used by one thread at a time; allocates nothing.
 */
final class Rectangles {
  private final @Nullable PitchedCopyPort port;
  private final HostAddresses host;
  private final Direction direction;
  private final long maxPitchBytes;

  // The rectangle we are at: rows [0, rows) of rowBytes, at steps that are positive.
  private long device;
  private long deviceStep;
  private long hostOffset;
  private long hostStep;
  private long rowBytes;
  private long rows;

  private @Nullable StreamHandle stream; // absent while only counting
  private int pair;
  private long calls;

  /** For one direction of one route. */
  Rectangles(DevicePort device, HostAddresses host, Direction direction) {
    this.port = device.pitchedCopies().orElse(null);
    this.host = host;
    this.direction = direction;
    this.maxPitchBytes = port == null ? 0 : port.maxPitchBytes();
  }

  /**
   * Copies all of it.
   *
   * @return how many driver calls that took
   * @throws CopyException names the first pair of the rectangle that was refused
   */
  long copy(BlockCopies copies, Geometry geometry, StreamHandle on) {
    stream = on;
    return walk(copies, geometry);
  }

  /** How many driver calls it would take. */
  long count(BlockCopies copies, Geometry geometry) {
    stream = null;
    return walk(copies, geometry);
  }

  private long walk(BlockCopies copies, Geometry geometry) {
    calls = 0;
    for (int part = 0; part < geometry.parts; part++) {
      pair = 0;
      while (pair < copies.pairs()) {
        int next = open(copies, geometry, part);
        split();
        pair = next;
      }
    }
    return calls;
  }

  /** The rectangle that begins at the pair; the answer is the first pair behind it. */
  private int open(BlockCopies copies, Geometry geometry, int part) {
    int count = copies.pairs();
    int next = pair + 1;
    int first = pair;
    rowBytes = geometry.partBytes[part];
    deviceStep = rowBytes;
    hostStep = rowBytes;
    if (next < count) {
      long blocks = copies.deviceBlock(next) - copies.deviceBlock(pair);
      long slots = copies.hostSlot(next) - copies.hostSlot(pair);
      long sign = Long.signum(blocks);
      if (sign != 0
          && Long.signum(slots) == sign
          && fits(sign * blocks, geometry.deviceStride[part])
          && fits(sign * slots, geometry.hostStride[part])) {
        deviceStep = sign * blocks * geometry.deviceStride[part];
        hostStep = sign * slots * geometry.hostStride[part];
        next++;
        while (next < count
            && copies.deviceBlock(next) - copies.deviceBlock(next - 1) == blocks
            && copies.hostSlot(next) - copies.hostSlot(next - 1) == slots) {
          next++;
        }
        first = sign < 0 ? next - 1 : pair;
      }
    }
    rows = (long) next - pair;
    device = geometry.deviceBase[part] + copies.deviceBlock(first) * geometry.deviceStride[part];
    hostOffset = geometry.hostBase[part] + copies.hostSlot(first) * geometry.hostStride[part];
    if (deviceStep == rowBytes && hostStep == rowBytes) {
      rowBytes *= rows;
      deviceStep = rowBytes;
      hostStep = rowBytes;
      rows = 1;
    }
    return next;
  }

  private boolean fits(long step, long stride) {
    return step <= maxPitchBytes / stride;
  }

  private void split() {
    while (rows > 0) {
      long end = host.endOfRange(hostOffset);
      long room = end - hostOffset;
      if (room >= rowBytes) {
        long whole = Math.min(rows, (room - rowBytes) / hostStep + 1);
        call(device, hostOffset, rowBytes, whole);
        skip(whole);
      } else {
        long done = 0;
        while (done < rowBytes) {
          long piece =
              Math.min(rowBytes - done, host.endOfRange(hostOffset + done) - hostOffset - done);
          call(device + done, hostOffset + done, piece, 1);
          done += piece;
        }
        skip(1);
      }
    }
  }

  private void skip(long some) {
    rows -= some;
    device += some * deviceStep;
    hostOffset += some * hostStep;
  }

  private void call(long from, long offset, long bytes, long some) {
    calls++;
    StreamHandle on = stream;
    if (on == null) {
      return;
    }
    if (port == null) {
      throw new IllegalStateException("the driver copies no rectangles");
    }
    long address = host.addressOf(offset);
    long devicePitch = some == 1 ? bytes : deviceStep;
    long hostPitch = some == 1 ? bytes : hostStep;
    try {
      if (direction == Direction.STORE) {
        port.copyRows(
            address,
            hostPitch,
            from,
            devicePitch,
            bytes,
            some,
            CopyTable.Direction.DEVICE_TO_HOST,
            on);
      } else {
        port.copyRows(
            from,
            devicePitch,
            address,
            hostPitch,
            bytes,
            some,
            CopyTable.Direction.HOST_TO_DEVICE,
            on);
      }
    } catch (DriverException answer) {
      boolean store = direction == Direction.STORE;
      throw new CopyException(
          answer,
          OptionalLong.of(pair),
          Optional.of(
              new Descriptor(store ? from : address, store ? address : from, some * bytes)));
    }
  }
}
