package io.holdfast.internal.copy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.copy.BlockCopies;
import io.holdfast.copy.CopyDecision;
import io.holdfast.copy.CopyOptions;
import io.holdfast.copy.CopyPath;
import io.holdfast.copy.CopyRoute.Direction;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.internal.Segment;
import io.holdfast.internal.copy.CopyProfile.Way;
import io.holdfast.internal.core.CoreDevice;
import io.holdfast.internal.slots.HostSlots;
import io.holdfast.layout.BlockLayout;
import io.holdfast.layout.BlockShape;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The choice of a path, against a device whose times are known. */
class PathChooserTest {
  private static final long LONG = 60_000_000_000L;

  /** As the model numbers them. */
  private static final List<CopyPath> WAYS =
      List.of(CopyPath.LOOP, CopyPath.BATCH, CopyPath.KERNEL, CopyPath.PITCHED);

  private static CopyProfile measured(ModelPort port, CoreDevice core, long budget) {
    try (Calibration calibration = new Calibration(core, port::now, budget)) {
      return calibration.measure("measured on a model");
    }
  }

  /** The model's, measured once: its times are the same on every device of it. */
  private static final class OfTheModel {
    static final CopyProfile PROFILE = measureOnce();

    private static CopyProfile measureOnce() {
      ModelPort port = new ModelPort();
      CoreDevice core = FakeDriver.open(port);
      CopyProfile profile = measured(port, core, LONG);
      core.backend().close();
      return profile;
    }
  }

  private static BlockCopies scattered(int blocks) {
    BlockCopies copies = BlockCopies.withCapacity(blocks);
    for (int block = 0; block < blocks; block++) {
      copies.add(block, (block * 7L + 3) % blocks);
    }
    return copies;
  }

  private static StandardRoute route(
      ModelPort port,
      CoreDevice core,
      BlockLayout device,
      BlockLayout host,
      CopyOptions options,
      CopyProfile profile) {
    FakePinned pinned = new FakePinned(core, List.of(), 0, host.extentBytes());
    DeviceBlocks blocks =
        DeviceBlocks.of(
            new Segment(
                core.info(), 1L << 40, device.extentBytes(), new Rig.Owner(core.standing())),
            device);
    assertEquals(0, port.rows);
    return StandardRoute.open(core, blocks, HostSlots.of(pinned, host), options, profile);
  }

  /**
   * The aim for hardware, on the model: never more than a twentieth below the best single path, at
   * sizes that were measured, between them and beyond.
   */
  @ParameterizedTest
  @ValueSource(
      longs = {
        1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 80, 96, 112, 128, 144, 160, 192, 224, 256, 320,
        384, 448, 512, 640, 768, 896, 1024, 1536, 2048, 3072, 4096, 6144
      })
  void theChoiceIsWithinATwentiethOfTheBestPath(long kib) {
    ModelPort port = new ModelPort();
    CoreDevice core = FakeDriver.open(port);
    CopyProfile profile = OfTheModel.PROFILE;
    long bytes = kib << 10;
    for (int blocks : new int[] {1, 2, 11, (int) Math.min(997, (24L << 20) / bytes)}) {
      if (blocks % 7 == 0 || blocks == 0) {
        continue; // the scatter would not be one
      }
      BlockLayout layout = BlockShape.of(1, bytes).layerMajor(blocks);
      try (StandardRoute route = route(port, core, layout, layout, CopyOptions.auto(), profile)) {
        for (Direction direction : Direction.values()) {
          CopyDecision decision = route.explain(scattered(blocks), direction);
          boolean store = direction == Direction.STORE;
          double best = Double.MAX_VALUE;
          for (int way = 0; way < 3; way++) {
            best =
                Math.min(best, ModelPort.nanos(way, store, decision.descriptors(), kib * 1024.0));
          }
          double chosen =
              ModelPort.nanos(
                  WAYS.indexOf(decision.path()), store, decision.descriptors(), kib * 1024.0);
          assertTrue(
              chosen <= 1.05 * best,
              "%s of %d blocks of %d KiB: %.0f ns by %s, %.0f at best"
                  .formatted(direction, blocks, kib, chosen, decision, best));
        }
      }
    }
    core.backend().close();
  }

  @Test
  void smallRowsGoByKernelAndLargeOnesInABatch() {
    ModelPort port = new ModelPort();
    CoreDevice core = FakeDriver.open(port);
    CopyProfile profile = measured(port, core, LONG);
    BlockLayout small = BlockShape.of(1, 4096).layerMajor(100);
    BlockLayout large = BlockShape.of(1, 1 << 20).layerMajor(20);
    try (StandardRoute pages = route(port, core, small, small, CopyOptions.auto(), profile);
        StandardRoute chunks = route(port, core, large, large, CopyOptions.auto(), profile)) {
      CopyDecision one = pages.explain(scattered(100), Direction.LOAD);
      assertEquals(CopyPath.KERNEL, one.path());
      assertTrue(one.because().contains("100 rows of 4096 bytes"), one.because());
      assertTrue(one.because().contains("measured on a model"), one.because());
      // Equal within a twentieth when quiet; only the batch does not care for busy cores.
      assertEquals(CopyPath.BATCH, chunks.explain(scattered(20), Direction.STORE).path());
    }
    core.backend().close();
  }

  @Test
  void fewThreadBlocksAreTakenWhereMoreDoNotHelp() {
    ModelPort port = new ModelPort();
    CoreDevice core = FakeDriver.open(port);
    CopyProfile profile = measured(port, core, LONG);
    Descriptors descriptors = begun(BlockShape.of(1, 4096), 100);
    assertEquals(
        8,
        new PathChooser(port, CopyOptions.auto(), 4096, profile)
            .threadBlocks(Direction.LOAD, descriptors, 409_600));
    assertEquals(
        3,
        new PathChooser(port, CopyOptions.auto().maxKernelBlocks(3), 4096, profile)
            .threadBlocks(Direction.LOAD, descriptors, 409_600));
    core.backend().close();
  }

  private static Descriptors begun(BlockShape shape, int blocks) {
    BlockLayout layout = shape.layerMajor(blocks);
    CoreDevice core = FakeDriver.open(new NoOpPort());
    FakePinned pinned = new FakePinned(core, List.of(), 0, layout.extentBytes());
    DeviceBlocks device =
        DeviceBlocks.of(
            new Segment(
                core.info(), 1L << 40, layout.extentBytes(), new Rig.Owner(core.standing())),
            layout);
    Descriptors descriptors = new Descriptors(pinned.addressesOn(core), Direction.LOAD);
    descriptors.begin(scattered(blocks), Geometry.of(device, layout));
    return descriptors;
  }

  @Test
  void regularRowsWithGapsGoAsRectanglesWhereThatIsQuicker() {
    ModelPort port = new ModelPort();
    CoreDevice core = FakeDriver.open(port);
    CopyProfile profile = measured(port, core, LONG);
    BlockShape shape = BlockShape.of(2, 16 << 10);
    BlockCopies inOrder = BlockCopies.withCapacity(100);
    for (int block = 0; block < 100; block++) {
      inOrder.add(block, block);
    }
    CopyOptions withoutKernel = CopyOptions.auto().maxKernelBlocks(1);
    try (StandardRoute route =
        route(port, core, shape.layerMajor(100), shape.blockMajor(100), withoutKernel, profile)) {
      assertEquals(CopyPath.PITCHED, route.explain(inOrder, Direction.LOAD).path());
    }
    core.backend().close();
  }

  @Test
  void whatIsNotMeasuredGoesByRule() {
    ModelPort port = new ModelPort();
    CoreDevice core = FakeDriver.open(port);
    BlockLayout layout = BlockShape.of(1, 64).layerMajor(10);
    CopyProfile none = CopyProfile.unknown("nobody measured");
    try (StandardRoute route = route(port, core, layout, layout, CopyOptions.auto(), none)) {
      CopyDecision one = route.explain(BlockCopies.device(3).host(5), Direction.STORE);
      CopyDecision two = route.explain(BlockCopies.device(3, 6).host(5, 1), Direction.STORE);
      assertEquals(CopyPath.LOOP, one.path());
      assertEquals(CopyPath.BATCH, two.path());
      assertTrue(two.because().endsWith("nobody measured"), two.because());
    }
    core.backend().close();
  }

  @Test
  void aMeasurementStopsWhenItsTimeIsUp() {
    ModelPort port = new ModelPort();
    CoreDevice core = FakeDriver.open(port);

    CopyProfile profile = measured(port, core, 30_000_000);

    assertTrue(port.now() < 60_000_000, "took " + port.now());
    assertFalse(profile.knows(Way.PITCHED, Direction.LOAD));
    core.backend().close();
  }

  @Test
  void aKeptProfileIsTheSameAndOnlyForItsKey(@TempDir Path folder) throws IOException {
    ModelPort port = new ModelPort();
    CoreDevice core = FakeDriver.open(port);
    CopyProfile profile = measured(port, core, LONG);
    ProfileStore store = new ProfileStore(folder.resolve("not").resolve("there"));
    String key = ProfileStore.keyOf(core);
    assertTrue(key.startsWith("fake; fake 1; Fake; fake-0; no link"), key);

    assertTrue(store.load(key).isEmpty());
    assertTrue(store.save(key, profile));

    CopyProfile kept = store.load(key).orElseThrow();
    assertEquals(profile.origin(), kept.origin());
    for (Way way : Way.values()) {
      assertEquals(
          profile.nanos(way, Direction.LOAD, 3, 100, 70_000),
          kept.nanos(way, Direction.LOAD, 3, 100, 70_000),
          2);
      assertEquals(
          profile.busyNanos(way, Direction.STORE, 3, 100, 70_000),
          kept.busyNanos(way, Direction.STORE, 3, 100, 70_000),
          2);
    }
    assertTrue(store.load(key + " and another driver").isEmpty());
    try (var files = Files.list(folder.resolve("not").resolve("there"))) {
      Path file = files.findFirst().orElseThrow();
      Files.writeString(file, Files.readString(file).replace("LOOP.STORE.1024.rowNanos=", "$0x"));
      assertTrue(store.load(key).map(one -> one.knows(Way.LOOP, Direction.STORE)).isPresent());
      Files.writeString(file, "of=" + key + "\norigin=x\nLOOP.STORE.1024.rowNanos=much\n");
      assertTrue(store.load(key).isEmpty());
      Files.writeString(file, "\\u00");
      assertTrue(store.load(key).isEmpty());
    }
    core.backend().close();
  }

  @Test
  void aFolderThatCannotBeWrittenOnlyMeansMeasuringAgain(@TempDir Path folder) throws IOException {
    Path file = Files.writeString(folder.resolve("file"), "not a folder");
    CopyProfile profile = CopyProfile.of("x");
    assertFalse(new ProfileStore(file).save("key", profile));
    assertFalse(new ProfileStore(null).save("key", profile));
    assertTrue(new ProfileStore(file).load("key").isEmpty());
  }

  @Test
  void simulatorsAreNotMeasured() {
    ModelPort port = new ModelPort();
    CoreDevice core = FakeDriver.open(port);
    CopyProfile profile = new DeviceProfile(core, new ProfileStore(null)).get();
    assertEquals("a simulator is not measured", profile.origin());
    assertEquals(List.of(), port.taken);
    core.backend().close();
  }
}
