package io.holdfast.bench.replay;

import static io.holdfast.device.Order.after;
import static io.holdfast.device.Order.unordered;
import static io.holdfast.layout.Bytes.gib;
import static io.holdfast.layout.Bytes.mib;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.Backend;
import io.holdfast.Backends;
import io.holdfast.Device;
import io.holdfast.bench.Holdfast;
import io.holdfast.bench.tool.Console;
import io.holdfast.bench.tool.ExitCode;
import io.holdfast.copy.BlockCopies;
import io.holdfast.device.Demand;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.device.DeviceStream;
import io.holdfast.device.ExtensibleRegion;
import io.holdfast.device.ExtensibleRegion.Contents;
import io.holdfast.device.ExtensibleRequest;
import io.holdfast.device.HandleKind;
import io.holdfast.event.Activity;
import io.holdfast.host.HostRequest;
import io.holdfast.host.PageKind;
import io.holdfast.layout.BlockShape;
import io.holdfast.pin.PinException;
import io.holdfast.pin.PinRequest;
import io.holdfast.pool.HostPool;
import io.holdfast.pool.PoolOptions;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Set;
import jdk.jfr.Recording;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class ReplayTest {
  private static final BlockShape SHAPE = BlockShape.of(2, 4096);

  /** What the machine decides by itself, or by its clock. */
  private static final Set<Activity> MACHINES_OWN =
      EnumSet.of(Activity.POPULATE, Activity.PAUSE, Activity.NATIVE_CALL, Activity.FALLBACK);

  @TempDir Path folder;

  private record Run(int code, String out, String err) {
    JsonNode json() throws IOException {
      return Console.json().readTree(out);
    }
  }

  private static Run run(String... arguments) {
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    int code = Holdfast.run(arguments, new PrintWriter(out), new PrintWriter(err));
    return new Run(code, out.toString(), err.toString());
  }

  private Path recorded(Runnable work) throws IOException {
    Path file = folder.resolve("work.jfr");
    try (Recording recording = new Recording()) {
      recording.start();
      work.run();
      recording.stop();
      recording.dump(file);
    }
    return file;
  }

  /** Counts and bytes of everything that an engine decides. */
  private static void assertSame(JsonNode comparison) {
    int compared = 0;
    for (JsonNode one : comparison.path("activities")) {
      if (!MACHINES_OWN.contains(Activity.valueOf(one.path("activity").asText()))) {
        compared++;
        assertEquals(count(one, "recorded"), count(one, "replayed"), one.toString());
        assertEquals(
            one.path("recorded").path("bytes"), one.path("replayed").path("bytes"), one.toString());
      }
    }
    assertTrue(compared >= 5, comparison.toPrettyString());
  }

  private static long count(JsonNode activity, String which) {
    return activity.path(which).path("count").asLong()
        - activity.path(which).path("failures").asLong();
  }

  private static JsonNode activity(JsonNode comparison, Activity which) {
    for (JsonNode one : comparison.path("activities")) {
      if (one.path("activity").asText().equals(which.name())) {
        return one;
      }
    }
    throw new AssertionError(which + " is not in " + comparison);
  }

  @Test
  void a_recorded_soak_comes_out_the_same() throws IOException {
    Path file =
        recorded(
            () ->
                assertEquals(
                    ExitCode.OK,
                    run(
                            "soak",
                            "--backend=cpu-sim",
                            "--bytes=4MiB",
                            "--block-bytes=64KiB",
                            "--seconds=0.1",
                            "--threads=2")
                        .code()));

    Run replay = run("replay", file.toString(), "--json");

    assertEquals(ExitCode.OK, replay.code(), replay.err() + replay.out());
    JsonNode comparison = replay.json();
    assertEquals("cpu-sim", comparison.path("backend").asText(), "as recorded");
    assertSame(comparison);
    assertEquals(
        activity(comparison, Activity.POPULATE).path("recorded").path("bytes"),
        activity(comparison, Activity.POPULATE).path("replayed").path("bytes"));
    Run text = run("replay", file.toString(), "--backend", "cpu-sim:laptop");
    assertEquals(ExitCode.OK, text.code(), text.err());
    assertTrue(text.out().contains("replayed on cpu-sim:laptop"), text.out());
    assertTrue(text.out().lines().anyMatch(line -> line.startsWith("store ")), text.out());
  }

  /** Several devices, huge pages, slices, and every change of extensible memory. */
  private static void work() {
    try (Backend backend = Backends.select("cpu-sim:h200")) {
      for (int ordinal = 0; ordinal < 2; ordinal++) {
        Device device = backend.open(ordinal);
        DeviceBlocks blocks =
            DeviceBlocks.of(
                device.memory().allocate(64 * SHAPE.bytes()).segment(), SHAPE.blockMajor(64));
        HostPool pool =
            HostPool.open(
                device,
                blocks,
                HostRequest.ofBytes(gib(4)).pages(PageKind.hugeTlb(gib(1))),
                PoolOptions.defaults().pin(PinRequest.strict().sliceBytes(gib(1))));
        pool.store(BlockCopies.device(7, 8, 9).host(0, 1, 2), unordered()).await();
        pool.load(BlockCopies.device(1, 3, 5, 11).host(2, 9, 4, 0), unordered()).await();
        extend(device);
      }
    }
  }

  private static void extend(Device device) {
    try (DeviceStream used = device.newStream();
        ExtensibleRegion region =
            device
                .memory()
                .reserve(ExtensibleRequest.of(SHAPE.layerMajor(4096)).shareable(Demand.REQUIRE))) {
      region.commit(1024);
      region.shrink(512, after(used));
      region.commit(2000);
      region.consolidate(Contents.DISCARD, after(used));
      region.seal(2048, Contents.KEEP, after(used));
      region.export(HandleKind.POSIX_FD).close();
      region.releasePhysical(after(used));
      region.recommit();
    }
  }

  @Test
  void everything_that_an_engine_does_is_replayed_also_what_a_machine_here_could_not()
      throws IOException {
    Path file = recorded(ReplayTest::work);

    Run replay = run("replay", file.toString(), "--json");

    assertEquals(ExitCode.OK, replay.code(), replay.err() + replay.out());
    JsonNode comparison = replay.json();
    assertSame(comparison);
    for (Activity activity :
        EnumSet.of(
            Activity.MAP,
            Activity.UNMAP,
            Activity.REGISTER,
            Activity.UNREGISTER,
            Activity.READY,
            Activity.STORE,
            Activity.LOAD,
            Activity.COMMIT,
            Activity.SEAL,
            Activity.CONSOLIDATE,
            Activity.EXPORT,
            Activity.SLEEP,
            Activity.WAKE,
            Activity.CLOSE)) {
      assertTrue(count(activity(comparison, activity), "replayed") > 0, activity.name());
    }
    assertEquals(
        gib(8), activity(comparison, Activity.MAP).path("replayed").path("bytes").asLong());
  }

  @Test
  void a_recording_that_begins_late_is_replayed_from_there_on() throws IOException {
    Path file;
    try (Backend backend = Backends.select("cpu-sim");
        Device device = backend.open(0)) {
      DeviceBlocks blocks =
          DeviceBlocks.of(
              device.memory().allocate(64 * SHAPE.bytes()).segment(), SHAPE.blockMajor(64));
      HostPool pool = HostPool.open(device, blocks, HostRequest.ofBytes(mib(4)));
      DeviceStream used = device.newStream();
      ExtensibleRegion region =
          device.memory().reserve(ExtensibleRequest.of(SHAPE.layerMajor(4096)));
      region.commit(1);
      region.commit(2048);
      region.releasePhysical(after(used));
      file =
          recorded(
              () -> {
                pool.store(BlockCopies.device(7, 8, 9).host(0, 1, 2), unordered()).await();
                pool.close();
                region.recommit();
                region.consolidate(Contents.KEEP, after(used));
                region.close();
              });
    }

    Run replay = run("replay", file.toString(), "--json");

    assertEquals(ExitCode.OK, replay.code(), replay.err() + replay.out());
    JsonNode comparison = replay.json();
    assertEquals(
        3 * SHAPE.bytes(),
        activity(comparison, Activity.STORE).path("replayed").path("bytes").asLong());
    assertTrue(
        comparison.path("notes").has("memory was pinned before the recording began"), replay.out());
    assertSame(comparison);
    assertThrows(
        AssertionError.class,
        () -> activity(comparison, Activity.MAP),
        "what was there before is not counted");
  }

  @Test
  void what_the_other_machine_refuses_is_named_and_its_followers_too() throws IOException {
    Path file = recorded(ReplayTest::work);

    Run replay = run("replay", file.toString(), "--backend=cpu-sim:laptop", "--json");

    assertEquals(ExitCode.FAILED, replay.code(), replay.err() + replay.out());
    JsonNode refused = replay.json().path("refused");
    assertEquals("MAP", refused.path(0).path("activity").asText(), replay.out());
    assertTrue(
        refused.findValuesAsText("because").contains("what it stands on could not be replayed"),
        replay.out());
    assertFalse(replay.json().path("complete").asBoolean());
    assertTrue(
        count(activity(replay.json(), Activity.COMMIT), "replayed") > 0,
        "the rest is replayed all the same");
  }

  @Test
  void what_failed_is_left_out_and_said() throws IOException {
    Path file =
        recorded(
            () -> {
              try (Backend backend = Backends.select("cpu-sim:h200");
                  Device device = backend.open(0);
                  var region = backend.pageSource().map(HostRequest.ofBytes(mib(4)));
                  var pins = device.pinner().pin(region, PinRequest.strict())) {
                assertEquals(mib(4), pins.registeredBytes());
                assertThrows(
                    PinException.class, () -> device.pinner().pin(region, PinRequest.strict()));
                assertThrows(
                    RuntimeException.class,
                    () ->
                        backend
                            .pageSource()
                            .map(HostRequest.ofBytes(1L << 50).pages(PageKind.hugeTlb(gib(1)))));
              }
            });

    Run replay = run("replay", file.toString(), "--json");

    assertEquals(ExitCode.OK, replay.code(), replay.err() + replay.out());
    assertSame(replay.json());
    JsonNode map = activity(replay.json(), Activity.MAP);
    assertEquals(1, map.path("recorded").path("failures").asLong(), "a mapping that was refused");
    assertEquals(0, map.path("replayed").path("failures").asLong());
    assertEquals("MAP", replay.json().path("leftOut").path(0).path("activity").asText());
  }

  @Test
  void what_is_no_recording_of_holdfast_is_one_clear_line_and_2() throws IOException {
    Path text = Files.writeString(folder.resolve("text.jfr"), "not a recording\n".repeat(100));
    Path whole = recorded(ReplayTest::extendOne);
    byte[] bytes = Files.readAllBytes(whole);
    Path half = folder.resolve("half.jfr");
    Files.write(half, Arrays.copyOf(bytes, bytes.length / 2));
    Path empty = Files.write(folder.resolve("empty.jfr"), new byte[0]);
    Path foreign = folder.resolve("foreign.jfr");
    try (Recording recording = new Recording()) {
      recording.start();
      recording.stop();
      recording.dump(foreign);
    }

    assertRefused("no file", folder.resolve("nothing.jfr").toString());
    assertRefused("no file", folder.toString());
    assertRefused("cannot be read as a recording", text.toString());
    assertRefused("cannot be read as a recording", half.toString());
    assertRefused("cannot be read as a recording", empty.toString());
    assertRefused("has no events of Holdfast", foreign.toString());
    assertRefused("simulated machine", whole.toString(), "--backend=cuda");
  }

  private static void extendOne() {
    try (Backend backend = Backends.select("cpu-sim:h200");
        Device device = backend.open(0)) {
      extend(device);
    }
  }

  private static void assertRefused(String because, String... arguments) {
    String[] all = new String[arguments.length + 1];
    all[0] = "replay";
    System.arraycopy(arguments, 0, all, 1, arguments.length);
    Run run = run(all);
    assertEquals(ExitCode.USAGE, run.code(), run.err());
    assertTrue(run.err().startsWith("holdfast: ") && run.err().contains(because), run.err());
    assertEquals(2, run.err().lines().count(), run.err());
    assertEquals("", run.out());
  }
}
