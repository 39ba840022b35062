package io.holdfast.clients;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.Backends;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Programs that must not compile, and do not; a program with all right forms that does. */
@SuppressWarnings("InlineFormatString") // a program is easier to read in one piece
final class MisuseTest {
  private static final String FRAME =
      """
      package client;

      import static io.holdfast.device.Order.after;
      import static io.holdfast.device.Order.asIfOn;
      import static io.holdfast.device.Order.unordered;

      import io.holdfast.copy.*;
      import io.holdfast.device.*;
      import io.holdfast.host.*;
      import io.holdfast.layout.*;
      import io.holdfast.pool.*;
      import java.util.List;

      final class Client {
        static void use(
            HostPool pool,
            CopyEngine engine,
            BlockCopies copies,
            DeviceEvent e,
            DeviceStream s,
            DeviceBlocks blocks,
            DeviceSegment memory,
            ExtensibleRegion kv,
            HostRegion region,
            BlockLayout layout) {
          %s
        }
      }
      """;

  @TempDir Path folder;

  static List<Arguments> misuses() {
    return List.of(
        Arguments.of("pool.store(copies);", "no suitable method found for store(BlockCopies)"),
        Arguments.of(
            "pool.load(copies, after(e));", "Order.After cannot be converted to Order.TwoSided"),
        Arguments.of(
            "pool.store(copies, after());", "no suitable method found for after(no arguments)"),
        Arguments.of("new Order.TwoSided(List.of(), List.of(), List.of());", "has private access"),
        Arguments.of(
            "pool.store(BlockCopies.device(7, 8, 9), after(e));",
            "BlockCopies.Pairing cannot be converted to BlockCopies"),
        Arguments.of("long stride = kv.reserved().bytes() / kv.count();", "cannot find symbol"),
        Arguments.of("kv.reserved().segment();", "cannot find symbol"),
        Arguments.of(
            "DeviceBlocks.of(region.segment(), layout);",
            "MemorySegment cannot be converted to DeviceSegment"),
        Arguments.of("new DeviceSegment(0x7f00, 4096);", "DeviceSegment is abstract"),
        Arguments.of("new DeviceSegment() {};", "anonymous classes must not extend sealed classes"),
        Arguments.of(
            "new io.holdfast.internal.Segment(null, 0, 1, null);",
            "package io.holdfast.internal is not visible"),
        Arguments.of(
            "engine.route(blocks, region);", "HostRegion cannot be converted to HostBlocks"),
        Arguments.of("kv.releasePhysical();", "cannot be applied to given types"),
        Arguments.of(
            "kv.consolidate(true, after(e));",
            "boolean cannot be converted to ExtensibleRegion.Contents"));
  }

  @Test
  void there_are_fourteen_misuses() {
    assertEquals(14, misuses().size());
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("misuses")
  void a_misuse_does_not_compile(String statement, String message) {
    Javac.Outcome outcome = compile(statement);

    assertFalse(outcome.succeeded(), () -> "it compiled: " + statement);
    String errors =
        outcome.errors().replaceAll("(io\\.holdfast|java\\.lang)(\\.[a-z]+)*\\.(?=[A-Z])", "");
    assertTrue(errors.contains(message), errors);
  }

  @Test
  void the_right_forms_compile() {
    Javac.Outcome outcome =
        compile(
            """
            pool.store(copies, after(e)).await();
            pool.store(copies, after(s).and(e));
            pool.store(BlockCopies.device(7, 8, 9).host(0, 1, 2), unordered());
            Completion loaded = pool.load(copies, asIfOn(s));
            pool.load(copies, after(e).before(s));
            pool.load(copies, after(loaded).untilDone(), loaded);
            DeviceBlocks.of(memory, layout);
            engine.route(blocks, pool);
            kv.releasePhysical(after(s));
            kv.consolidate(ExtensibleRegion.Contents.DISCARD, after(s));
            kv.seal(64, after(s));
            System.out.println(kv.reserved());
            """);

    assertTrue(outcome.succeeded(), outcome::errors);
  }

  private Javac.Outcome compile(String statements) {
    return Javac.compile(
        folder,
        List.of("-p", Javac.artifactOf(Backends.class).toString()),
        Map.of(
            "client/Client.java",
            FRAME.formatted(statements),
            "module-info.java",
            "module client { requires io.holdfast.api; }"));
  }
}
