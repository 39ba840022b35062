package io.holdfast.internal.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.host.HostRequest;
import io.holdfast.host.HostRequest.Touch;
import io.holdfast.host.NumaPolicy;
import io.holdfast.host.PageKind;
import io.holdfast.layout.BlockLayout;
import io.holdfast.layout.BlockShape;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ConfigKeysTest {
  // Two parts of 4,096 bytes.
  private static final BlockLayout LAYOUT = BlockShape.of(2, 4096).layerMajor(7);

  @Test
  void theBytesAreABudgetForWholeBlocks() {
    assertEquals(3 * 8192, bytes(Map.of("cpu_bytes_to_use_per_rank", 3 * 8192 + 8191L)));
    assertEquals(8192, bytes(Map.of("cpu_bytes_to_use_per_rank", "1")));
    assertEquals(131_072L * 8192, bytes(Map.of("host_pool_gib", 1)));
    assertEquals(65_536L * 8192, bytes(Map.of("host_pool_gib", "0.5")));
  }

  @Test
  void B64_paddingBetweenBlocksCountsAgainstTheBudget() {
    BlockLayout padded = BlockShape.of(1, 36_864).blockMajor(1, 65_536);

    HostRequest request =
        HostRequest.fromConfig(Map.of("cpu_bytes_to_use_per_rank", 1L << 30), padded);

    assertEquals(16_384L * 65_536, request.logicalBytes());
  }

  @ParameterizedTest
  @CsvSource({"2MB,2097152", "2mb,2097152", "1GB,1073741824"})
  void hugePagesHaveTheDocumentedSpellings(String spelling, long pageBytes) {
    assertEquals(PageKind.hugeTlb(pageBytes), request("cpu_hugepage_block_size", spelling).pages());
  }

  @ParameterizedTest
  @ValueSource(strings = {"4KB", "2M", "1GiB", "1g", "", "2 MB"})
  void anyOtherHugePageIsAnErrorThatNamesTheKeyTheValueAndWhatIsAccepted(String spelling) {
    IllegalArgumentException error =
        assertThrows(
            IllegalArgumentException.class, () -> request("cpu_hugepage_block_size", spelling));

    assertEquals(
        "cpu_hugepage_block_size is '" + spelling + "'; accepted: 2MB, 1GB, none",
        error.getMessage());
  }

  @Test
  void withoutHugePagesTheTransparentKeyDecides() {
    assertEquals(PageKind.base(), request("cpu_hugepage_block_size", "none").pages());
    assertEquals(PageKind.thp(), request("THP_MEM_ALLOC_ENABLE", "1").pages());
    assertEquals(PageKind.base(), request("THP_MEM_ALLOC_ENABLE", "0").pages());
    assertEquals(
        PageKind.hugeTlb(2 << 20),
        HostRequest.fromConfig(
                Map.of(
                    "host_pool_gib", 1,
                    "THP_MEM_ALLOC_ENABLE", 1,
                    "cpu_hugepage_block_size", "2MB"),
                LAYOUT)
            .pages());
  }

  @Test
  void aDirectoryCanBeRequiredToHaveHugePages() {
    assertEquals(
        PageKind.directory(Path.of("/dev/hugepages")),
        request("host_pool_dir", "/dev/hugepages").pages());
    assertEquals(
        PageKind.directory(Path.of("/dev/hugepages"), 1L << 30),
        HostRequest.fromConfig(
                Map.of(
                    "host_pool_gib", 1,
                    "host_pool_dir", "/dev/hugepages",
                    "cpu_hugepage_block_size", "1GB"),
                LAYOUT)
            .pages());
    assertThrows(IllegalArgumentException.class, () -> request("host_pool_dir", " "));
  }

  @Test
  void aNodeIsBoundAndMinusOneOrNoneIsNot() {
    assertEquals(new NumaPolicy.Bind(Set.of(3)), request("cpu_numa_node", 3).numa());
    assertEquals(NumaPolicy.inherit(), request("cpu_numa_node", -1).numa());
    assertEquals(NumaPolicy.inherit(), request("cpu_numa_node", "none").numa());
    for (Object wrong : new Object[] {true, -2, "1.5", "node 1", ""}) {
      IllegalArgumentException error =
          assertThrows(IllegalArgumentException.class, () -> request("cpu_numa_node", wrong));
      assertTrue(String.valueOf(error.getMessage()).startsWith("cpu_numa_node is '" + wrong + "'"));
    }
  }

  @Test
  void prefaultIsABooleanAndLazyPagesAreBasePages() {
    assertEquals(Touch.BEFORE_USE, request("cpu_prefault", true).touch());
    assertEquals(Touch.LAZILY, request("cpu_prefault", false).touch());
    assertThrows(IllegalArgumentException.class, () -> request("cpu_prefault", 1));
    IllegalArgumentException error =
        assertThrows(
            IllegalArgumentException.class,
            () ->
                HostRequest.fromConfig(
                    Map.of(
                        "host_pool_gib",
                        1,
                        "cpu_prefault",
                        false,
                        "cpu_hugepage_block_size",
                        "2MB"),
                    LAYOUT));
    assertTrue(
        String.valueOf(error.getMessage()).startsWith("cpu_prefault is 'false'"), error::toString);
  }

  @ParameterizedTest
  @ValueSource(strings = {"cpu_bytes_to_use_per_rank", "host_pool_gib"})
  @Timeout(60)
  void amountsThatWouldTakeLongToWorkOutAreRefusedUnread(String key) {
    for (String wrong :
        List.of("1e600000000", "1e2147483647", "1e-600000000", "7".repeat(2_000_000))) {
      IllegalArgumentException error =
          assertThrows(IllegalArgumentException.class, () -> bytes(Map.of(key, wrong)));

      assertTrue(String.valueOf(error.getMessage()).startsWith(key + " is '"), error::toString);
      assertTrue(String.valueOf(error.getMessage()).length() < 300, "the value is cut");
    }
  }

  @Test
  void amountsMayHaveExponentsAndZeros() {
    assertEquals(1_000_000 / 8192 * 8192, bytes(Map.of("cpu_bytes_to_use_per_rank", "1e6")));
    assertEquals(8192, bytes(Map.of("cpu_bytes_to_use_per_rank", "8192.000")));
    assertEquals(131_072L * 8192, bytes(Map.of("host_pool_gib", "0.001e3")));
  }

  @Test
  void amountsArePositiveAndNamedOnce() {
    for (Object wrong : new Object[] {0, -1, "1.5", "8GiB", true, "1e30"}) {
      assertThrows(
          IllegalArgumentException.class,
          () -> bytes(Map.of("cpu_bytes_to_use_per_rank", wrong)),
          wrong::toString);
    }
    assertThrows(IllegalArgumentException.class, () -> bytes(Map.of("host_pool_gib", 0)));
    assertThrows(IllegalArgumentException.class, () -> bytes(Map.of()));
    assertThrows(
        IllegalArgumentException.class,
        () -> bytes(Map.of("host_pool_gib", 1, "cpu_bytes_to_use_per_rank", 1)));
  }

  @Test
  void anUnknownKeyIsNamedTogetherWithTheKnownOnes() {
    IllegalArgumentException error =
        assertThrows(
            IllegalArgumentException.class,
            () -> bytes(Map.of("host_pool_gib", 1, "cpu_bytes_to_use", 5)));

    assertTrue(
        String.valueOf(error.getMessage()).startsWith("unknown key cpu_bytes_to_use;"),
        error::toString);
    assertTrue(
        String.valueOf(error.getMessage()).contains("cpu_bytes_to_use_per_rank"), error::toString);
  }

  private static long bytes(Map<String, ?> config) {
    return HostRequest.fromConfig(config, LAYOUT).logicalBytes();
  }

  private static HostRequest request(String key, Object value) {
    return HostRequest.fromConfig(Map.of("host_pool_gib", 1, key, value), LAYOUT);
  }
}
