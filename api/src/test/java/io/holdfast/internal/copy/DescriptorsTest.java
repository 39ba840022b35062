package io.holdfast.internal.copy;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.CopyOptions;
import io.holdfast.copy.CopyPath;
import io.holdfast.copy.CopyRoute;
import io.holdfast.copy.CopyRoute.Direction;
import io.holdfast.device.Order;
import io.holdfast.layout.BlockShape;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Rows of copy tables: how many, merged, split, and in which calls. */
class DescriptorsTest {
  private static long[] ids(String list) {
    return Arrays.stream(list.split(" ")).mapToLong(Long::parseLong).toArray();
  }

  private static List<Long> rowsOfCalls(Rig rig) {
    return rig.port.calls.stream().map(FakePort.Call::rows).toList();
  }

  @ParameterizedTest(name = "cap {0}, {1} regions, {2} pairs: calls of {3}")
  @CsvSource({
    "8192, 3, 5000, 8192 6808",
    "8192, 1, 8192, 8192",
    "8192, 1, 8193, 8192 1",
    "4096, 61, 135, 4096 4096 43",
    "1000000, 61, 135, 8235",
    "4096, 1, 51828, 4096 4096 4096 4096 4096 4096 4096 4096 4096 4096 4096 4096 2676",
  })
  void aCallTakesNoMoreDescriptorsThanTheCap(int cap, int regions, int pairs, String calls) {
    BlockShape shape = BlockShape.of(regions, 2);
    try (Rig rig = Rig.of(shape.layerMajor(2L * pairs), shape.layerMajor(2L * pairs))) {
      BlockCopies copies = BlockCopies.withCapacity(pairs);
      for (int pair = 0; pair < pairs; pair++) {
        copies.add(2L * pair, 2L * pair); // every second one: no runs
      }
      CopyRoute route = rig.route(CopyOptions.auto().maxBatchEntries(cap));

      var done = route.store(copies, Order.unordered());
      rig.port.run();

      assertEquals(Arrays.stream(ids(calls)).boxed().toList(), rowsOfCalls(rig));
      assertTrue(done.isDone());
      assertEquals((long) pairs * regions, done.report().descriptors());
      assertArrayEquals(rig.onDevice(regions - 1, 2), rig.onHost(regions - 1, 2));
      long end = 2L * pairs - 2;
      assertArrayEquals(rig.onDevice(regions - 1, end), rig.onHost(regions - 1, end));
    }
  }

  @Test
  void theDriversOwnLimitBindsToo() {
    BlockShape shape = BlockShape.of(1, 8);
    try (Rig rig = Rig.of(shape.layerMajor(64), shape.layerMajor(64))) {
      rig.port.maxRows = 5;
      CopyRoute route = rig.route(CopyOptions.auto().maxBatchEntries(100));

      var _ =
          route.store(
              BlockCopies.device(0, 2, 4, 6, 8, 10, 12).host(ids("0 2 4 6 8 10 12")),
              Order.unordered());

      assertEquals(List.of(5L, 2L), rowsOfCalls(rig));
    }
  }

  /** Two regions of 3 and 5 bytes, cap 3. The third row is one run each, since it goes down. */
  @ParameterizedTest(name = "blocks {0} to slots {1}: calls of {2}")
  @CsvSource({
    "1, 2, 2",
    "1 2 3, 5 6 7, 2",
    "3 2 1, 6 5 4, 2",
    "1 2 3, 2 4 6, 3 3",
    "1 3 5, 2 3 4, 3 3",
    "1 1 2, 2 4 5, 3 1",
    "1 2 5 6 7 4, 2 3 7 8 6 5, 3 3 2",
  })
  void runsOfNeighboursAreOneDescriptor(String blocks, String slots, String calls) {
    BlockShape shape = new BlockShape(List.of(3L, 5L));
    try (Rig rig = Rig.of(shape.layerMajor(10), shape.layerMajor(10))) {
      CopyRoute route = rig.route(CopyOptions.auto().maxBatchEntries(3).path(CopyPath.BATCH));

      var _ = route.store(BlockCopies.device(ids(blocks)).host(ids(slots)), Order.unordered());
      rig.port.run();

      assertEquals(Arrays.stream(ids(calls)).boxed().toList(), rowsOfCalls(rig));
      for (int pair = 0; pair < ids(blocks).length; pair++) {
        for (int part = 0; part < 2; part++) {
          assertArrayEquals(
              rig.onDevice(part, ids(blocks)[pair]), rig.onHost(part, ids(slots)[pair]));
        }
      }
    }
  }

  /** 118 regions of 256 descending blocks: 30,208 descriptors before merging, 118 after. */
  @Test
  void aDescendingRunIsOneDescriptorInEachRegion() {
    BlockShape shape = BlockShape.of(118, 16);
    try (Rig rig = Rig.of(shape.layerMajor(256), shape.layerMajor(256))) {
      BlockCopies copies = BlockCopies.withCapacity(256);
      for (int block = 255; block >= 0; block--) {
        copies.add(block, block);
      }

      var done = rig.route().load(copies, Order.unordered());
      rig.port.run();

      assertEquals(30_208, done.report().pairs());
      assertEquals(118, done.report().descriptors());
      assertEquals(
          new FakePort.Copied(
              rig.device.address(), rig.pinned.segment().address() + FakePort.ALIAS, 4096),
          rig.port.rows.getFirst());
    }
  }

  @Test
  void mergeContiguous_sixteenPagesAreOne() {
    assertEquals(
        List.of(16 * 8192L),
        merged(
            "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15", "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15", 1));
  }

  @Test
  void mergeContiguous_twoLayersOfFourAreTwo() {
    assertEquals(List.of(4 * 8192L, 4 * 8192L), merged("0 1 2 3", "4 5 6 7", 2));
  }

  @Test
  void mergeContiguous_aScatteredDestinationStaysFour() {
    assertEquals(List.of(8192L, 8192L, 8192L, 8192L), merged("0 1 2 3", "9 2 14 6", 1));
  }

  @Test
  void mergeContiguous_allScatteredStayFive() {
    assertEquals(
        List.of(8192L, 8192L, 8192L, 8192L, 8192L), merged("9 1 12 4 7", "3 11 6 0 14", 1));
  }

  @Test
  void mergeContiguous_aSingleOneStaysOne() {
    assertEquals(List.of(8192L), merged("3", "5", 1));
  }

  /** Two pages, then a page and two halves of one: two of two pages each. */
  @Test
  void mergeContiguous_partsOfDifferentSizesThatTouchAreOne() {
    BlockShape shape = new BlockShape(List.of(8192L, 4096L, 4096L));
    try (Rig rig = Rig.of(shape.blockMajor(110), shape.blockMajor(110))) {
      var _ = rig.route().store(BlockCopies.device(0, 100).host(0, 100), Order.unordered());

      assertEquals(
          List.of(16_384L, 16_384L), rig.port.rows.stream().map(FakePort.Copied::bytes).toList());
    }
  }

  private static List<Long> merged(String blocks, String slots, int layers) {
    BlockShape shape = BlockShape.of(layers, 8192);
    try (Rig rig = Rig.of(shape.layerMajor(16), shape.layerMajor(16))) {
      var _ =
          rig.route().store(BlockCopies.device(ids(blocks)).host(ids(slots)), Order.unordered());
      return rig.port.rows.stream().map(FakePort.Copied::bytes).toList();
    }
  }

  @Test
  void rowsOfBlockMajorSidesAreOneCopyPerBlock() {
    BlockShape shape = new BlockShape(List.of(3L, 5L, 8L));
    try (Rig rig = Rig.of(shape.blockMajor(20), shape.blockMajor(20))) {
      var done = rig.route().load(BlockCopies.device(1, 2, 9).host(4, 5, 7), Order.unordered());
      rig.port.run();

      assertEquals(9, done.report().pairs());
      assertEquals(2, done.report().descriptors()); // a run of two, and one
    }
  }

  @Test
  void paddingIsNeverCopiedAndBreaksRuns() {
    BlockShape shape = BlockShape.of(1, 5);
    try (Rig rig = Rig.of(shape.blockMajor(20), shape.blockMajor(20, 8))) {
      rig.pinned.segment().fill((byte) 0x77);

      var done = rig.route().store(BlockCopies.device(1, 2, 3).host(1, 2, 3), Order.unordered());
      rig.port.run();

      assertEquals(3, done.report().descriptors());
      assertEquals(
          (byte) 0x77, rig.pinned.segment().get(java.lang.foreign.ValueLayout.JAVA_BYTE, 8 + 5));
    }
  }

  @Test
  void layoutsMayDifferWhenShapesAreEqual() {
    BlockShape shape = new BlockShape(List.of(16L, 48L, 7L));
    try (Rig rig = Rig.of(shape.layerMajor(30), shape.blockMajor(40, 80))) {
      BlockCopies copies = BlockCopies.device(0, 1, 2, 29, 17).host(5, 6, 7, 0, 39);
      CopyRoute route = rig.route();

      var _ = route.store(copies, Order.unordered());
      rig.port.run();
      byte[][] before = new byte[15][];
      for (int pair = 0; pair < 5; pair++) {
        for (int part = 0; part < 3; part++) {
          before[3 * pair + part] = rig.onDevice(part, copies.deviceBlock(pair));
          assertArrayEquals(before[3 * pair + part], rig.onHost(part, copies.hostSlot(pair)));
        }
      }
      rig.device.fill((byte) 0);
      var _ = route.load(copies, Order.unordered());
      rig.port.run();

      for (int pair = 0; pair < 5; pair++) {
        for (int part = 0; part < 3; part++) {
          assertArrayEquals(before[3 * pair + part], rig.onDevice(part, copies.deviceBlock(pair)));
        }
      }
    }
  }

  /**
   * Field report B03: blocks of 73,728 bytes; block 7 ends at the cut, another one lies over it.
   */
  @Test
  void b03_aBlockOverACutIsSplitThere() {
    BlockShape shape = BlockShape.of(1, 73_728);
    try (Rig rig = Rig.of(shape.layerMajor(16), shape.layerMajor(16), 589_824, 720_896)) {
      CopyRoute route = rig.route();

      var _ = route.store(BlockCopies.device(1).host(7), Order.unordered());
      var _ = route.store(BlockCopies.device(2).host(9), Order.unordered());
      rig.port.run();

      assertEquals(
          List.of(73_728L, 57_344L, 16_384L),
          rig.port.rows.stream().map(FakePort.Copied::bytes).toList());
      assertArrayEquals(rig.onDevice(0, 1), rig.onHost(0, 7));
      assertArrayEquals(rig.onDevice(0, 2), rig.onHost(0, 9));
    }
  }

  @Test
  void aRunIsSplitAtEveryCutItLiesOver() {
    BlockShape shape = BlockShape.of(1, 10);
    try (Rig rig = Rig.of(shape.layerMajor(10), shape.layerMajor(10), 15, 30, 31)) {
      CopyRoute route = rig.route();
      BlockCopies down =
          BlockCopies.device(9, 8, 7, 6, 5, 4, 3, 2, 1, 0).host(9, 8, 7, 6, 5, 4, 3, 2, 1, 0);

      var done = route.store(down, Order.unordered());
      rig.port.run();

      assertEquals(
          List.of(15L, 15L, 1L, 69L), rig.port.rows.stream().map(FakePort.Copied::bytes).toList());
      assertEquals(1, done.report().pairs() / 10);
      for (int block = 0; block < 10; block++) {
        assertArrayEquals(rig.onDevice(0, block), rig.onHost(0, block));
      }
    }
  }

  @Test
  void explainCountsWithoutCopying() {
    BlockShape shape = BlockShape.of(2, 10);
    try (Rig rig = Rig.of(shape.layerMajor(10), shape.layerMajor(10), 15)) {
      CopyRoute route = rig.route(CopyOptions.auto().maxBatchEntries(2));
      BlockCopies copies = BlockCopies.device(0, 1, 5).host(0, 1, 7);

      var decision = route.explain(copies, Direction.LOAD);
      var loop = rig.route(CopyOptions.auto().path(CopyPath.LOOP)).explain(copies, Direction.STORE);

      assertEquals(5, decision.descriptors()); // the first part's run is cut
      assertEquals(3, decision.driverCalls());
      assertEquals(CopyPath.BATCH, decision.path());
      assertEquals(5, loop.driverCalls());
      assertTrue(loop.because().contains("LOOP"), loop.because());
      assertEquals(List.of(), rig.port.calls);
    }
  }
}
