package io.holdfast.internal.extensible;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.device.DevicePlane;
import io.holdfast.device.DeviceStream;
import io.holdfast.device.ExtensibleRegion;
import io.holdfast.device.ExtensibleRequest;
import io.holdfast.device.Order;
import io.holdfast.internal.core.CoreDevice;
import io.holdfast.layout.BlockLayout;
import io.holdfast.layout.BlockShape;
import java.util.List;
import java.util.stream.IntStream;

/** One fake device. At its end nothing may be left in the driver, and nothing misused. */
final class Rig implements AutoCloseable {
  static final long GRANULE = FakeMemory.GRANULE;
  static final long KIB64 = 64L << 10;

  /** Two parts of 64 KiB, part after part: 32 blocks of a part fill a granule. */
  static final BlockLayout TWO_PLANES = BlockShape.of(2, KIB64).layerMajor(160);

  final FakePort port = new FakePort();
  final FakeMemory memory = port.memory;
  final CoreDevice device = FakeDriver.open(port);

  ExtensibleRegion reserve(BlockLayout capacity) {
    return device.memory().reserve(capacity);
  }

  ExtensibleRegion reserve(ExtensibleRequest request) {
    return device.memory().reserve(request);
  }

  /** Nothing is in the way. */
  Order.After now() {
    return Order.after(device.wrapStream(port.engineStream()));
  }

  DeviceStream engineStream() {
    return device.wrapStream(port.engineStream());
  }

  /** Writes every byte of the blocks from one number to another, each block and part its own. */
  void write(ExtensibleRegion region, long from, long to) {
    each(region, from, to, (address, bytes, value) -> memory.write(address, bytes, value));
  }

  /** Whether the blocks hold what {@link #write} wrote. */
  boolean isWritten(ExtensibleRegion region, long from, long to) {
    boolean[] all = {true};
    each(
        region, from, to, (address, bytes, value) -> all[0] &= memory.holds(address, bytes, value));
    return all[0];
  }

  boolean isZero(ExtensibleRegion region, long from, long to) {
    boolean[] all = {true};
    each(region, from, to, (address, bytes, value) -> all[0] &= memory.holds(address, bytes, 0));
    return all[0];
  }

  private interface Each {
    void part(long address, long bytes, int value);
  }

  private static void each(ExtensibleRegion region, long from, long to, Each each) {
    List<Long> parts = region.shape().partBytes();
    for (int part = 0; part < parts.size(); part++) {
      DevicePlane plane = region.plane(part);
      for (long block = from; block < to; block++) {
        long address =
            plane.memory().slice(block * plane.strideBytes(), parts.get(part)).rawAddress();
        each.part(address, parts.get(part), (int) (1 + (7 * block + 31L * part) % 250));
      }
    }
  }

  static List<Long> addresses(ExtensibleRegion region) {
    return IntStream.range(0, region.shape().parts())
        .mapToObj(part -> region.plane(part).memory().rawAddress())
        .toList();
  }

  /** The message is for people, but what it must tell them is fixed. */
  static void assertSays(String words, Throwable refusal) {
    String message = String.valueOf(refusal.getMessage());
    assertTrue(message.contains(words), message);
  }

  void assertNothingLeft() {
    assertEquals(List.of(), memory.violations);
    assertEquals(0, memory.handles(), "physical allocations that were not released");
    assertEquals(0, memory.mappingCount(), "mappings that were not taken away");
    assertEquals(0, memory.reservationCount(), "addresses that were not given back");
    assertEquals(0, memory.usedBytes(), "device memory that did not return");
  }

  @Override
  public void close() {
    device.backend().close();
    assertNothingLeft();
    assertTrue(device.backend().stillOpen().isEmpty());
  }
}
