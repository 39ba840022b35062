package io.holdfast.internal.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.holdfast.error.Errno;
import io.holdfast.host.HostRegion;
import io.holdfast.host.HostRequest;
import io.holdfast.host.NumaPolicy;
import io.holdfast.host.PageKind;
import io.holdfast.host.PlacementException;
import io.holdfast.host.PlacementReceipt;
import io.holdfast.internal.core.CoreBackend;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class ReceiptTest {
  private static final long MIB = 1L << 20;
  private static final long GIB = 1L << 30;
  private static final long HUGE = 2 * MIB;

  // Where the scripted kernel maps first.
  private static final long FIRST = 1L << 40;

  private final ScriptedKernel kernel = new ScriptedKernel();
  private final CoreBackend backend = NoDevices.backend(kernel);

  @AfterEach
  void close() {
    backend.close();
  }

  private PlacementReceipt receipt(HostRequest request) {
    try (HostRegion region = backend.pageSource().map(request)) {
      return region.receipt();
    }
  }

  private static boolean notes(PlacementReceipt receipt, String start) {
    return receipt.notes().stream().anyMatch(note -> note.startsWith(start));
  }

  @Test
  void B94_negativeAnswersArePagesThatAreNotThere() {
    kernel.nodes("0-1", Map.of(0, "0", 1, "1"));
    int[] answers = {0, -2, 1, -14};
    kernel.nodeOfPage = (offset, index) -> answers[index % 4];

    PlacementReceipt receipt = receipt(HostRequest.ofBytes(16 * 4096));

    assertEquals(Map.of(0, 4 * 4096L, 1, 4 * 4096L), receipt.bytesPerNode());
    assertTrue(
        receipt.notes().contains("8 of 16 pages asked about are not present"), receipt::toString);
  }

  @Test
  void upToSomeSizeEveryPageIsAskedAndAboveADrawFromEachStretch() {
    assertEquals(1.0, receipt(HostRequest.ofBytes(256 * MIB)).sampledShare());
    assertEquals(List.of("nodesAt 65536"), kernel.callsOf("nodesAt"));

    kernel.nodes("0-1", Map.of(0, "0", 1, "1"));
    // A quarter of the pages, all at the end, lies on node 1.
    kernel.nodeOfPage = (offset, index) -> offset < 3 * GIB ? 0 : 1;
    PlacementReceipt receipt = receipt(HostRequest.ofBytes(4 * GIB));

    assertEquals(65_536.0 / 1_048_576, receipt.sampledShare());
    assertEquals(Map.of(0, 3 * GIB, 1, GIB), receipt.bytesPerNode());
    assertTrue(
        receipt
            .notes()
            .contains(
                "65536 of 1048576 pages were asked for their node; with 99.9 % confidence a kind"
                    + " of page that was not seen is less than 0.0105 % of all"),
        receipt::toString);
  }

  @Test
  void whereMovePagesIsForbiddenNumaMapsCountsEveryPage() {
    kernel.nodes("0-1", Map.of(0, "0", 1, "1"));
    kernel.nodesRefusal = Optional.of(ScriptedKernel.refusal("move_pages", Errno.EPERM));
    kernel.text(
        "/proc/self/numa_maps",
        "7f0000000000 default file=/x N0=3 kernelpagesize_kB=4\n"
            + Long.toHexString(FIRST)
            + " bind:1 anon=256 dirty=256 N0=6 N1=250 kernelpagesize_kB=4");

    PlacementException wrong =
        assertThrows(
            PlacementException.class,
            () -> receipt(HostRequest.ofBytes(MIB).numa(NumaPolicy.bind(1))));

    assertEquals(Map.of(0, 6 * 4096L, 1, 250 * 4096L), wrong.receipt().bytesPerNode());
    assertEquals(6 * 4096L, wrong.receipt().bytesElsewhere());
    assertEquals(1.0, wrong.receipt().sampledShare());
  }

  @Test
  void pagesThatAutomaticBalancingHidesFromMovePagesAreCountedByNumaMaps() {
    kernel.nodes("0-1", Map.of(0, "0", 1, "1"));
    kernel.nodeOfPage = (offset, index) -> index < 128 ? 1 : -2;
    kernel.text(
        "/proc/self/numa_maps",
        Long.toHexString(FIRST) + " bind:1 anon=256 dirty=256 N1=256 kernelpagesize_kB=4");

    PlacementReceipt receipt = receipt(HostRequest.ofBytes(MIB).numa(NumaPolicy.bind(1)));

    assertEquals(Map.of(1, MIB), receipt.bytesPerNode());
    assertEquals(1.0, receipt.sampledShare());
    assertTrue(
        notes(receipt, "nodes are by /proc/self/numa_maps; move_pages did not see 128 of 256"),
        receipt::toString);
    assertFalse(
        receipt.notes().stream().anyMatch(note -> note.contains("are not present")),
        receipt::toString);
  }

  @Test
  void pagesThatComeLazilyAreAbsentWhateverNumaMapsSays() {
    kernel.nodeOfPage = (offset, index) -> -2;
    kernel.text(
        "/proc/self/numa_maps",
        Long.toHexString(FIRST) + " default anon=1 N0=1 kernelpagesize_kB=4");

    PlacementReceipt receipt = receipt(HostRequest.ofBytes(MIB).touch(HostRequest.Touch.LAZILY));

    assertEquals(Map.of(), receipt.bytesPerNode());
    assertTrue(
        receipt.notes().contains("256 of 256 pages asked about are not present"),
        receipt::toString);
  }

  @Test
  void hugePagesThatAutomaticBalancingHidesFromSmapsAreTouchedAndLookedForAgain() {
    kernel.real = true;
    kernel.text("/sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never");
    AtomicInteger looks = new AtomicInteger();
    kernel.dynamic =
        path -> {
          if (!path.equals("/proc/self/smaps")) {
            return Optional.empty();
          }
          long there = looks.incrementAndGet() < 3 ? 2048 : 4096;
          return Optional.of(
              Long.toHexString(kernel.lastMapped.address())
                  + "-"
                  + Long.toHexString(kernel.lastMapped.address() + 4 * MIB)
                  + " rw-p 00000000 00:00 0 \nRss:    "
                  + there
                  + " kB\nKernelPageSize:  4 kB\nAnonHugePages: "
                  + there
                  + " kB\n");
        };

    PlacementReceipt receipt = receipt(HostRequest.ofBytes(4 * MIB).pages(PageKind.thp()));

    assertEquals(Map.of(HUGE, 4 * MIB), receipt.bytesPerPageSize());
    assertEquals(3, looks.get());
  }

  @Test
  void whereNothingTellsTheNodesTheReceiptSaysThatAndAsksNoShare() {
    kernel.nodesRefusal = Optional.of(ScriptedKernel.refusal("move_pages", Errno.ENOSYS));

    PlacementReceipt receipt = receipt(HostRequest.ofBytes(MIB));

    assertEquals(0, receipt.sampledShare());
    assertEquals(Map.of(), receipt.bytesPerNode());
    assertTrue(notes(receipt, "the kernel does not say on which nodes"), receipt::toString);
  }

  private void smaps(long bytes, String... fields) {
    kernel.text(
        "/proc/self/smaps",
        "00400000-00500000 r-xp 00000000 08:01 1 /bin/x\nKernelPageSize:        4 kB\n"
            + "AnonHugePages:  99999 kB\n"
            + Long.toHexString(FIRST)
            + "-"
            + Long.toHexString(FIRST + bytes)
            + " rw-p 00000000 00:00 0 \n"
            + String.join("\n", fields)
            + "\nVmFlags: rd wr dc\n"
            + "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n"
            + "KernelPageSize:        4 kB");
  }

  @Test
  void theShareOfHugePagesIsTheKernelsCountNotTheRequest() {
    smaps(16 * MIB, "KernelPageSize:        4 kB", "AnonHugePages:     12288 kB");
    kernel.text("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never");

    PlacementReceipt receipt = receipt(HostRequest.ofBytes(16 * MIB).pages(PageKind.thp()));

    assertEquals(Map.of(4096L, 4 * MIB, HUGE, 12 * MIB), receipt.bytesPerPageSize());
    assertTrue(
        receipt
            .notes()
            .contains("huge pages back 75.0 % of the region (transparent_hugepage is madvise)"),
        receipt::toString);
  }

  @Test
  void aMappingThatReachesFurtherIsCountedByItsShare() {
    smaps(32 * MIB, "KernelPageSize:        4 kB", "AnonHugePages:     16384 kB");

    PlacementReceipt receipt = receipt(HostRequest.ofBytes(16 * MIB).pages(PageKind.thp()));

    assertEquals(Map.of(4096L, 8 * MIB, HUGE, 8 * MIB), receipt.bytesPerPageSize());
    assertTrue(
        notes(receipt, "the kernel counts the region together with what lies beside it"),
        receipt::toString);
  }

  @Test
  void B59_hugePagesThatTheKernelDidNotGiveAreADisagreement() {
    kernel.pool(HUGE, 8, 8, 0);
    smaps(2 * HUGE, "KernelPageSize:        4 kB");

    PlacementException wrong =
        assertThrows(
            PlacementException.class,
            () -> receipt(HostRequest.ofBytes(2 * HUGE).pages(PageKind.hugeTlb(HUGE))));

    assertTrue(
        String.valueOf(wrong.getMessage())
            .startsWith("the kernel backs the region with pages of 4 KiB, not 2 MiB"),
        wrong::toString);
  }

  @Test
  void aReceiptIsOneLineOfJson() throws Exception {
    PlacementReceipt receipt =
        new PlacementReceipt(
            Map.of(0, 7L, 1, 9L),
            Map.of(4096L, 16L),
            0.5,
            9,
            Duration.ofNanos(5),
            Duration.ofSeconds(2),
            4,
            List.of("a \"quoted\"\tword \\ \u0001 é"));

    String json = receipt.toJson();

    assertEquals(1, json.lines().count());
    JsonNode tree = new ObjectMapper().readTree(json);
    assertEquals(9, tree.get("bytesPerNode").get("1").asLong());
    assertEquals(16, tree.get("bytesPerPageSize").get("4096").asLong());
    assertEquals(0.5, tree.get("sampledShare").asDouble());
    assertEquals(9, tree.get("bytesElsewhere").asLong());
    assertEquals(5, tree.get("mapNanos").asLong());
    assertEquals(2_000_000_000L, tree.get("populateNanos").asLong());
    assertEquals(4, tree.get("populateThreads").asInt());
    assertEquals("a \"quoted\"\tword \\ \u0001 é", tree.get("notes").get(0).asText());
  }
}
