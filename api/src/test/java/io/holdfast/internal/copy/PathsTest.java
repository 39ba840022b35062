package io.holdfast.internal.copy;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.CopyException;
import io.holdfast.copy.CopyOptions;
import io.holdfast.copy.CopyPath;
import io.holdfast.copy.CopyRoute;
import io.holdfast.copy.CopyRoute.Direction;
import io.holdfast.device.Order;
import io.holdfast.layout.BlockLayout;
import io.holdfast.layout.BlockShape;
import java.util.List;
import java.util.Random;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Every path moves the same bytes, and says what it did. */
class PathsTest {
  private static FakePort everything() {
    FakePort port = new FakePort();
    port.hasKernel = true;
    port.hasPitched = true;
    return port;
  }

  /** Random shapes, layouts, cuts and pairs, byte for byte, there and back. */
  @ParameterizedTest
  @EnumSource(CopyPath.class)
  void b33_everyPathMovesTheSameBytes(CopyPath path) {
    for (long seed = 1; seed <= 60; seed++) {
      RandomGenerator random = new Random(seed);
      BlockShape shape =
          new BlockShape(random.longs(1 + random.nextInt(4), 1, 40).boxed().toList());
      int blocks = 2 + random.nextInt(30);
      BlockLayout device = layout(shape, blocks, random);
      BlockLayout host = layout(shape, blocks, random);
      long[] cuts = random.longs(random.nextInt(4), 1, Math.max(2, host.extentBytes())).toArray();
      try (Rig rig = new Rig(everything(), device, host, cuts)) {
        CopyRoute route =
            rig.route(CopyOptions.auto().path(path).maxBatchEntries(1 + random.nextInt(9)));
        BlockCopies copies = BlockCopies.withCapacity(blocks);
        int step = 1 + random.nextInt(3);
        boolean down = random.nextBoolean();
        boolean scattered = random.nextBoolean();
        List<Integer> order = random.ints(0, blocks).distinct().limit(blocks).boxed().toList();
        for (int block = 0; block < blocks; block += step) {
          int id = down ? blocks - 1 - block : block;
          copies.add(id, scattered ? order.get(id) : id);
        }
        byte[][][] expected = new byte[copies.pairs()][shape.parts()][];

        var stored = route.store(copies, Order.unordered());
        rig.port.run();
        for (int pair = 0; pair < copies.pairs(); pair++) {
          for (int part = 0; part < shape.parts(); part++) {
            expected[pair][part] = rig.onDevice(part, copies.deviceBlock(pair));
            assertArrayEquals(
                expected[pair][part],
                rig.onHost(part, copies.hostSlot(pair)),
                path + ", seed " + seed + ", pair " + pair + ", part " + part);
          }
        }
        var decision = route.explain(copies, Direction.STORE);
        assertEquals(decision.descriptors(), stored.report().descriptors(), "seed " + seed);
        assertEquals(path, stored.report().path());
        rig.device.fill((byte) 0);
        var _ = route.load(copies, Order.unordered());
        rig.port.run();
        for (int pair = 0; pair < copies.pairs(); pair++) {
          for (int part = 0; part < shape.parts(); part++) {
            assertArrayEquals(
                expected[pair][part],
                rig.onDevice(part, copies.deviceBlock(pair)),
                path + ", seed " + seed + ", pair " + pair + ", part " + part);
          }
        }
      }
    }
  }

  private static BlockLayout layout(BlockShape shape, int blocks, RandomGenerator random) {
    return switch (random.nextInt(3)) {
      case 0 -> shape.layerMajor(blocks);
      case 1 -> shape.layerMajor(blocks, 1L << random.nextInt(6));
      default -> shape.blockMajor(blocks, shape.bytes() + random.nextInt(20));
    };
  }

  @Test
  void aKernelTakesNoMoreThreadBlocksThanAllowed() {
    BlockLayout layout = BlockShape.of(1, 64).layerMajor(32);
    try (Rig rig = new Rig(everything(), layout, layout)) {
      CopyRoute route = rig.route(CopyOptions.auto().path(CopyPath.KERNEL).maxKernelBlocks(4));
      BlockCopies many = BlockCopies.device(0, 2, 4, 6, 8, 10).host(1, 3, 5, 7, 9, 11);

      var _ = route.load(many, Order.unordered());

      assertEquals("kernel 4", rig.port.calls.getFirst().kind());
    }
  }

  @Test
  void regularRowsAreOneRectangleInEachPart() {
    BlockShape shape = BlockShape.of(3, 16);
    try (Rig rig = new Rig(everything(), shape.layerMajor(16), shape.blockMajor(16))) {
      CopyRoute route = rig.route(CopyOptions.auto().path(CopyPath.PITCHED));

      var stored = route.store(BlockCopies.device(8, 6, 4, 2).host(9, 8, 7, 6), Order.unordered());
      rig.port.run();

      assertEquals(List.of(4L, 4L, 4L), rig.port.calls.stream().map(FakePort.Call::rows).toList());
      assertEquals(3, stored.report().descriptors());
      assertArrayEquals(rig.onDevice(2, 2), rig.onHost(2, 6));
      assertArrayEquals(rig.onDevice(0, 8), rig.onHost(0, 9));
    }
  }

  @Test
  void aRectangleThatIsRefusedNamesItsFirstPair() {
    BlockShape shape = BlockShape.of(1, 16);
    try (Rig rig = new Rig(everything(), shape.layerMajor(16), shape.layerMajor(16, 16))) {
      CopyRoute route = rig.route(CopyOptions.auto().path(CopyPath.PITCHED));
      rig.port.failingCall = 1;

      CopyException failure =
          assertThrows(
              CopyException.class,
              () ->
                  route.load(
                      BlockCopies.device(0, 2, 4, 5, 1).host(0, 2, 4, 11, 9), Order.unordered()));

      assertEquals(3, failure.pair().orElseThrow());
      assertEquals(2 * 16, failure.descriptor().orElseThrow().bytes());
    }
  }

  @Test
  void aKernelsFirstLaunchesAreShortSoThatTheDeviceBeginsEarly() {
    BlockLayout layout = BlockShape.of(1, 16).layerMajor(12_000);
    FakePort port = new FakePort();
    port.hasKernel = true;
    try (Rig rig = new Rig(port, layout, layout)) {
      CopyRoute route = rig.route(CopyOptions.auto().path(CopyPath.KERNEL));
      BlockCopies copies = BlockCopies.withCapacity(6_000);
      for (int pair = 0; pair < 6_000; pair++) {
        copies.add(2L * pair, 2L * (5_999 - pair));
      }

      var decision = route.explain(copies, CopyRoute.Direction.STORE);
      var stored = route.store(copies, Order.unordered());
      port.run();

      assertTrue(stored.isDone());
      assertEquals(
          List.of(512L, 512L, 1_024L, 2_048L, 1_904L),
          port.calls.stream().map(FakePort.Call::rows).toList());
      assertEquals(5, decision.driverCalls());
      assertEquals(6_000, decision.descriptors());
      assertArrayEquals(rig.onDevice(0, 0), rig.onHost(0, 11_998));
      assertArrayEquals(rig.onDevice(0, 11_998), rig.onHost(0, 0));
    }
  }
}
