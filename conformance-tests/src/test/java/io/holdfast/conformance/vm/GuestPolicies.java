package io.holdfast.conformance.vm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.Backend;
import io.holdfast.error.UnsupportedException;
import io.holdfast.host.HostRegion;
import io.holdfast.host.HostRequest;
import io.holdfast.host.NumaPolicy;
import io.holdfast.host.PageKind;
import io.holdfast.host.PlacementReceipt;
import io.holdfast.host.SharedRegion;
import io.holdfast.host.SharedRequest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Every policy on every kind of page: where the pages are is what the receipt says. */
final class GuestPolicies {
  private static final Path HUGETLBFS = Path.of("/guest/hugetlbfs");

  private final Backend backend = Guest.backend();

  @BeforeAll
  static void mountAndFillPools() throws Exception {
    Guest.pools(40, 40);
    Files.createDirectories(HUGETLBFS);
    mount("-t", "hugetlbfs", "-o", "pagesize=2M", "none", HUGETLBFS.toString());
    if (Guest.hasWeights()) {
      Guest.write(Guest.weight(0), 1);
      Guest.write(Guest.weight(1), 3);
    }
  }

  @AfterAll
  static void emptyPools() throws Exception {
    assertEquals(
        0, new ProcessBuilder("/guest/busybox", "umount", HUGETLBFS.toString()).start().waitFor());
    Guest.pools(0, 0);
  }

  private static void mount(String... arguments) throws Exception {
    List<String> command = new ArrayList<>(List.of("/guest/busybox", "mount"));
    command.addAll(List.of(arguments));
    assertEquals(0, new ProcessBuilder(command).inheritIO().start().waitFor());
  }

  @AfterEach
  void close() {
    backend.close();
  }

  /** One row. */
  record Row(
      String kind,
      PageKind pages,
      long pageBytes,
      long logicalBytes,
      NumaPolicy policy,
      String kernelsName,
      Map<Integer, Double> shares) {
    @Override
    public String toString() {
      return kind + ", " + kernelsName;
    }
  }

  static Stream<Row> rows() {
    List<Row> rows = new ArrayList<>();
    kind(rows, "base pages", PageKind.base(), 4096, 16 * Guest.MIB + 1);
    kind(rows, "transparent huge pages", PageKind.thp(), 4096, 32 * Guest.MIB);
    kind(rows, "2 MiB pages", PageKind.hugeTlb(Guest.HUGE), Guest.HUGE, 39 * Guest.MIB);
    kind(rows, "1 GiB pages", PageKind.hugeTlb(Guest.GIANT), Guest.GIANT, 5 * Guest.MIB);
    kind(rows, "tmpfs", PageKind.directory(Path.of("/dev/shm")), 4096, 16 * Guest.MIB);
    kind(rows, "hugetlbfs", PageKind.directory(HUGETLBFS), Guest.HUGE, 40 * Guest.MIB);
    return rows.stream();
  }

  private static void kind(
      List<Row> rows, String name, PageKind pages, long pageBytes, long bytes) {
    Map<Integer, Double> first = Map.of(0, 1.0);
    Map<Integer, Double> second = Map.of(1, 1.0);
    Map<Integer, Double> half = Map.of(0, 0.5, 1, 0.5);
    rows.add(new Row(name, pages, pageBytes, bytes, NumaPolicy.bind(0), "bind:0", first));
    rows.add(new Row(name, pages, pageBytes, bytes, NumaPolicy.bind(1), "bind:1", second));
    rows.add(new Row(name, pages, pageBytes, bytes, NumaPolicy.preferred(0), "prefer:0", first));
    rows.add(new Row(name, pages, pageBytes, bytes, NumaPolicy.preferred(1), "prefer:1", second));
    if (pageBytes == Guest.GIANT) {
      rows.add(
          new Row(
              name,
              pages,
              pageBytes,
              2 * Guest.GIANT,
              NumaPolicy.interleave(0, 1),
              "interleave:0-1",
              half));
      return; // there are two of them: no turns to count, and weights need four
    }
    rows.add(
        new Row(
            name, pages, pageBytes, bytes, NumaPolicy.interleave(0, 1), "interleave:0-1", half));
    if (Guest.hasWeights()) {
      rows.add(
          new Row(
              name,
              pages,
              pageBytes,
              bytes,
              NumaPolicy.weighted(Map.of(0, 2, 1, 6)),
              "weighted interleave:0-1",
              Map.of(0, 0.25, 1, 0.75)));
    }
  }

  @ParameterizedTest
  @MethodSource("rows")
  void the_receipt_is_what_the_kernel_says_and_the_pages_are_where_they_were_asked(Row row) {
    String before = Calls.policy();

    try (HostRegion region =
        backend
            .pageSource()
            .map(HostRequest.ofBytes(row.logicalBytes()).pages(row.pages()).numa(row.policy()))) {
      KernelsWord word = KernelsWord.of(region.segment());
      PlacementReceipt receipt = region.receipt();

      assertEquals(row.kernelsName(), word.policy());
      agree(word, receipt);
      assertEquals(0, receipt.bytesElsewhere());
      assertEquals(
          Math.ceilDiv(row.logicalBytes(), row.pageBytes()) * row.pageBytes(),
          region.mappedBytes());
      // Transparent huge pages take their turns whole.
      long turn = row.pages() instanceof PageKind.TransparentHuge ? Guest.HUGE : row.pageBytes();
      for (Map.Entry<Integer, Double> share : row.shares().entrySet()) {
        double expected = region.mappedBytes() * share.getValue();
        long got = word.bytesPerNode().getOrDefault(share.getKey(), 0L);
        assertTrue(Math.abs(got - expected) <= 2.0 * turn, word::toString);
      }
      assertEquals(row.shares().keySet(), word.bytesPerNode().keySet());
    }
    assertEquals(before, Calls.policy(), "the process's own policy");
  }

  static Stream<Row> kinds() {
    return rows().filter(row -> row.policy() instanceof NumaPolicy.Bind);
  }

  @ParameterizedTest
  @MethodSource("kinds")
  void inherited_pages_lie_where_the_caller_runs(Row row) throws Exception {
    int node = row.shares().containsKey(1) ? 1 : 0;

    Guest.onCpu(
        node,
        () -> {
          try (HostRegion region =
              backend
                  .pageSource()
                  .map(HostRequest.ofBytes(row.logicalBytes()).pages(row.pages()))) {
            KernelsWord word = KernelsWord.of(region.segment());
            assertEquals("default", word.policy());
            assertEquals(Map.of(node, region.mappedBytes()), word.bytesPerNode());
            agree(word, region.receipt());
          }
          return null;
        });
  }

  @Test
  void base_pages_that_become_huge_unasked_take_their_turns_whole() {
    Path enabled = Path.of("/sys/kernel/mm/transparent_hugepage/enabled");
    Guest.write(enabled, "always");
    try (HostRegion region =
        backend
            .pageSource()
            .map(HostRequest.ofBytes(16 * Guest.MIB + 1).numa(NumaPolicy.interleave(0, 1)))) {
      KernelsWord word = KernelsWord.of(region.segment());
      assertTrue(word.bytesPerPageSize().containsKey(Guest.HUGE), word::toString);
      agree(word, region.receipt());
    } finally {
      Guest.write(enabled, "madvise");
    }
  }

  private static void agree(KernelsWord word, PlacementReceipt receipt) {
    assertEquals(word.bytesPerNode(), receipt.bytesPerNode());
    assertEquals(word.bytesPerPageSize(), receipt.bytesPerPageSize());
    assertEquals(1.0, receipt.sampledShare());
  }

  @Test
  void weights_that_the_kernel_has_not_are_refused_by_the_version_that_has_them() {
    if (Guest.hasWeights()) {
      UnsupportedException other =
          assertThrows(
              UnsupportedException.class,
              () ->
                  backend
                      .pageSource()
                      .map(
                          HostRequest.ofBytes(Guest.MIB)
                              .numa(NumaPolicy.weighted(Map.of(0, 1, 1, 1)))));
      assertTrue(other.remedy().contains("echo 1 > " + Guest.weight(1)), other::remedy);
      return;
    }
    UnsupportedException old =
        assertThrows(
            UnsupportedException.class,
            () ->
                backend
                    .pageSource()
                    .map(
                        HostRequest.ofBytes(Guest.MIB)
                            .numa(NumaPolicy.weighted(Map.of(0, 1, 1, 3)))));
    assertTrue(String.valueOf(old.getMessage()).contains("Linux 6.9"), old::toString);
  }

  @Test
  void each_rank_of_a_shared_region_has_its_slice_on_its_own_node() throws Exception {
    for (Path directory : List.of(Path.of("/dev/shm"), HUGETLBFS)) {
      SharedRequest request =
          SharedRequest.named(
              "two-nodes",
              2,
              HostRequest.ofBytes(8 * Guest.MIB).pages(PageKind.directory(directory)));
      CompletableFuture<SharedRegion> other = new CompletableFuture<>();
      Thread thread =
          Thread.ofPlatform()
              .start(
                  () -> {
                    try {
                      Calls.runOn(2);
                      other.complete(backend.pageSource().share(request, 1));
                    } catch (Throwable failure) {
                      other.completeExceptionally(failure);
                    }
                  });
      SharedRegion mine = Guest.onCpu(0, () -> backend.pageSource().share(request, 0));
      thread.join();
      try (mine;
          SharedRegion theirs = other.join()) {
        theirs.ready().join();
        mine.ready().join();
        // The kernel tells of a mapping the pages that were touched through it.
        assertEquals(Map.of(0, 8 * Guest.MIB), KernelsWord.of(mine.segment()).bytesPerNode());
        assertEquals(Map.of(1, 8 * Guest.MIB), KernelsWord.of(theirs.segment()).bytesPerNode());
      }
      assertEquals(List.of(), names(directory));
    }
  }

  private static List<String> names(Path directory) throws IOException {
    try (Stream<Path> files = Files.list(directory)) {
      return files.map(Path::toString).toList();
    }
  }
}
