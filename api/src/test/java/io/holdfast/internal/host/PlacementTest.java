package io.holdfast.internal.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.device.Demand;
import io.holdfast.device.DeviceInfo;
import io.holdfast.error.Errno;
import io.holdfast.error.HostKernelException;
import io.holdfast.error.UnsupportedException;
import io.holdfast.host.HostRegion;
import io.holdfast.host.HostRequest;
import io.holdfast.host.NumaPolicy;
import io.holdfast.host.PlacementException;
import io.holdfast.internal.core.CoreBackend;
import io.holdfast.spi.HostKernel.ThreadPlace;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Where pages are asked to lie, and where threads that touch them run. */
class PlacementTest {
  private static final long MIB = 1L << 20;
  private static final int MPOL_BIND = 2;
  private static final int MPOL_INTERLEAVE = 3;

  private final ScriptedKernel kernel = new ScriptedKernel();
  private final CoreBackend backend = NoDevices.backend(kernel);

  @AfterEach
  void close() {
    backend.close();
  }

  private void twoNodes() {
    kernel.nodes("0-1", Map.of(0, "0-3", 1, "4-7"));
    kernel.place = new ThreadPlace(0, Set.of(), Set.of(0, 1, 4, 5));
  }

  private HostRegion map(NumaPolicy policy) {
    return backend.pageSource().map(HostRequest.ofBytes(MIB).numa(policy));
  }

  private List<String> binds(NumaPolicy policy) {
    map(policy).close();
    return kernel.callsOf("bind");
  }

  @Test
  void B80_inheritedPlacementMakesNoCall() {
    twoNodes();

    assertEquals(List.of(), binds(NumaPolicy.inherit()));
  }

  @Test
  void B81_eachPolicyIsOneCallOverTheWholeMapping() {
    twoNodes();
    kernel.nodeOfPage = (offset, index) -> index % 2;
    map(NumaPolicy.interleave(1, 0)).close();
    kernel.nodeOfPage = (offset, index) -> 1;
    map(NumaPolicy.bind(1)).close();
    map(NumaPolicy.preferred(1)).close();

    assertEquals(
        List.of(
            "bind 1048576 INTERLEAVE [0, 1]",
            "bind 1048576 BIND [1]",
            "bind 1048576 PREFERRED [1]"),
        kernel.callsOf("bind"));
  }

  @Test
  void B80_nodesAbove63AreNodesLikeOthers() {
    kernel.nodes("0,130", Map.of(0, "0", 130, "1"));
    kernel.nodeOfPage = (offset, index) -> 130;

    assertEquals(List.of("bind 1048576 BIND [130]"), binds(NumaPolicy.bind(130)));
  }

  @Test
  void nodesThatAreNotThereAreRefusedByName() {
    twoNodes();

    UnsupportedException absent =
        assertThrows(UnsupportedException.class, () -> map(NumaPolicy.bind(0, 2, 3)));

    assertTrue(
        String.valueOf(absent.getMessage())
            .startsWith("memory on nodes 2-3 is not supported here: this machine has nodes 0-1"),
        absent::toString);
    assertEquals(List.of(), kernel.callsOf("map"));
  }

  @Test
  void nodesOutsideTheCpusetAreRefusedNeverTrimmed() {
    twoNodes();
    kernel.text("/proc/self/status", "Mems_allowed_list:\t1");

    UnsupportedException refused =
        assertThrows(UnsupportedException.class, () -> map(NumaPolicy.interleave(0, 1)));

    assertTrue(
        String.valueOf(refused.getMessage()).contains("this process may use node 1 (cpuset)"),
        refused::toString);
  }

  @Test
  void nodesWithoutMemoryAreRefused() {
    twoNodes();
    kernel.text("/sys/devices/system/node/has_memory", "0");

    assertThrows(UnsupportedException.class, () -> map(NumaPolicy.bind(1)));
  }

  private static NumaPolicy nearest(OptionalInt node) {
    return NumaPolicy.nearest(new DeviceInfo(3, "device", "", "0000:3b:00.0", 1, node));
  }

  @Test
  void B40_nearestIsANodeWithCpusNeverTheDevicesOwnMemory() {
    kernel.nodes("0,1,2,10", Map.of(0, "0-3", 1, "4-7", 2, "", 10, ""));
    kernel.text("/sys/devices/system/node/node10/distance", "40 80 20 10");

    try (HostRegion region = map(nearest(OptionalInt.of(10)))) {
      assertEquals(List.of("bind 1048576 BIND [0]"), kernel.callsOf("bind"));
      assertTrue(
          region
              .receipt()
              .notes()
              .contains("node 0 is the nearest with CPUs to node 10 of device 3"),
          () -> region.receipt().toString());
    }
  }

  @Test
  void B40_aDeviceOfUnknownNodeBindsNothingAndTheReceiptSaysSo() {
    twoNodes();

    try (HostRegion region = map(nearest(OptionalInt.empty()))) {
      assertEquals(List.of(), kernel.callsOf("bind"));
      assertTrue(
          region
              .receipt()
              .notes()
              .contains("the node of device 3 is not known, so nothing is bound"),
          () -> region.receipt().toString());
    }
  }

  @Test
  void nearestIsTheDevicesOwnNodeWhereThatHasCpus() {
    twoNodes();
    kernel.nodeOfPage = (offset, index) -> 1;

    assertEquals(List.of("bind 1048576 BIND [1]"), binds(nearest(OptionalInt.of(1))));
  }

  @Test
  void aNodeWithoutCpusCanBeNamedAndIsNoted() {
    kernel.nodes("0,2", Map.of(0, "0-3", 2, ""));
    kernel.nodeOfPage = (offset, index) -> 2;

    try (HostRegion region = map(NumaPolicy.bind(2))) {
      assertTrue(
          region.receipt().notes().contains("node 2 has no CPUs; it was asked for by number"),
          () -> region.receipt().toString());
    }
  }

  @Test
  void weightsAreTheMachinesOrTheyAreRefusedWithTheCommandsThatSetThem() {
    twoNodes();
    NumaPolicy policy = NumaPolicy.weighted(Map.of(0, 2, 1, 6));
    UnsupportedException old = assertThrows(UnsupportedException.class, () -> map(policy));
    assertTrue(String.valueOf(old.getMessage()).contains("Linux 6.9"), old::toString);
    String folder = "/sys/kernel/mm/mempolicy/weighted_interleave/node";
    kernel.text(folder + 0, 1).text(folder + 1, 1);

    UnsupportedException other = assertThrows(UnsupportedException.class, () -> map(policy));

    assertEquals(
        "Set them for the whole machine: echo 2 > " + folder + "0; echo 6 > " + folder + "1",
        other.remedy());
    kernel.text(folder + 0, 1).text(folder + 1, 3);
    kernel.nodeOfPage = (offset, index) -> index % 4 == 0 ? 0 : 1;
    assertEquals(List.of("bind 1048576 WEIGHTED_INTERLEAVE [0, 1]"), binds(policy));
  }

  @Test
  void weightsThatCannotBeHadAreEqualTurnsUnderPreferAndTheReceiptSaysSo() {
    twoNodes();
    kernel.nodeOfPage = (offset, index) -> index % 2;

    try (HostRegion region =
        backend
            .pageSource()
            .map(
                HostRequest.ofBytes(MIB)
                    .numa(NumaPolicy.weighted(Map.of(0, 1, 1, 2)))
                    .placement(Demand.PREFER))) {
      assertEquals(List.of("bind 1048576 INTERLEAVE [0, 1]"), kernel.callsOf("bind"));
      assertTrue(
          region.receipt().notes().stream()
              .anyMatch(note -> note.startsWith("interleaved without weights:")),
          () -> region.receipt().toString());
    }
  }

  @Test
  void B38_aForbiddenCallIsATypedErrorUnderRequireAndNothingStaysMapped() {
    twoNodes();
    kernel.bindRefusal = Optional.of(ScriptedKernel.refusal("mbind", Errno.EPERM));

    HostKernelException refused =
        assertThrows(HostKernelException.class, () -> map(NumaPolicy.bind(0)));

    assertTrue(refused.is(Errno.EPERM));
    assertTrue(refused.remedy().contains("seccomp"), refused::remedy);
    assertTrue(refused.remedy().contains("CAP_SYS_NICE"), refused::remedy);
    assertEquals(List.of("unmap 1048576"), kernel.callsOf("unmap"));
  }

  @Test
  void B38_aForbiddenCallIsANoteUnderPrefer() {
    twoNodes();
    kernel.bindRefusal = Optional.of(ScriptedKernel.refusal("mbind", Errno.EPERM));
    kernel.nodeOfPage = (offset, index) -> 1;

    try (HostRegion region =
        backend
            .pageSource()
            .map(HostRequest.ofBytes(MIB).numa(NumaPolicy.bind(0)).placement(Demand.PREFER))) {
      assertTrue(
          region.receipt().notes().stream()
              .anyMatch(note -> note.startsWith("nothing is bound: mbind answered EPERM")),
          () -> region.receipt().toString());
      assertEquals(Map.of(1, MIB), region.receipt().bytesPerNode());
    }
  }

  @Test
  void B41_pagesOnAnotherNodeFailUnderRequireAndAreCountedUnderPrefer() {
    twoNodes();
    kernel.nodeOfPage = (offset, index) -> index < 192 ? 0 : 1;

    PlacementException wrong =
        assertThrows(PlacementException.class, () -> map(NumaPolicy.bind(0)));

    assertEquals(MIB / 4, wrong.receipt().bytesElsewhere());
    assertEquals(Map.of(0, 3 * MIB / 4, 1, MIB / 4), wrong.receipt().bytesPerNode());
    assertEquals(List.of("unmap 1048576"), kernel.callsOf("unmap"));
    try (HostRegion region =
        backend
            .pageSource()
            .map(HostRequest.ofBytes(MIB).numa(NumaPolicy.bind(0)).placement(Demand.PREFER))) {
      assertEquals(MIB / 4, region.receipt().bytesElsewhere());
      assertTrue(
          region.receipt().notes().stream().anyMatch(note -> note.startsWith("not as asked: ")),
          () -> region.receipt().toString());
    }
  }

  @Test
  void aPreferredNodeMayOverflowAndTheReceiptShowsTheSplit() {
    twoNodes();
    kernel.nodeOfPage = (offset, index) -> index < 192 ? 0 : 1;

    try (HostRegion region = map(NumaPolicy.preferred(0))) {
      assertEquals(MIB / 4, region.receipt().bytesElsewhere());
      assertEquals(Map.of(0, 3 * MIB / 4, 1, MIB / 4), region.receipt().bytesPerNode());
    }
  }

  @Test
  void turnsThatAreFarFromEqualAreADisagreement() {
    twoNodes();
    kernel.nodeOfPage = (offset, index) -> index % 4 == 0 ? 1 : 0;

    PlacementException unequal =
        assertThrows(PlacementException.class, () -> map(NumaPolicy.interleave(0, 1)));

    assertTrue(
        String.valueOf(unequal.getMessage()).contains("its turns come to 524288"),
        unequal::toString);
  }

  @Test
  void turnsAreWholeHugePagesWhereBasePagesBecomeHugeUnasked() {
    twoNodes();
    kernel.text("/sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never");
    kernel.text("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", 2 * MIB);
    // Seven whole huge pages and a rest of base pages in turns: nine MiB to seven.
    kernel.nodeOfPage =
        (offset, index) -> index < 7 * 512 ? (index / 512) % 2 : (index < 3840 ? 1 : 0);

    backend
        .pageSource()
        .map(HostRequest.ofBytes(16 * MIB).numa(NumaPolicy.interleave(0, 1)))
        .close();

    kernel.text("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never");
    assertThrows(
        PlacementException.class,
        () ->
            backend
                .pageSource()
                .map(HostRequest.ofBytes(16 * MIB).numa(NumaPolicy.interleave(0, 1))));
  }

  private Set<Integer> workerCpus(NumaPolicy policy) {
    map(policy).close();
    List<String> places = kernel.callsOf("placeThread").stream().distinct().toList();
    assertEquals(1, places.size(), places::toString);
    String place = places.getFirst();
    return NumberList.parse(
        place.substring(place.indexOf("cpus=[") + 6, place.indexOf("]]")).replace(" ", ""));
  }

  @Test
  void threadsThatTouchUnderTheDefaultPolicyStayOnTheCallersNode() {
    twoNodes();
    // The caller ran on CPU 5 last, which is on node 1; its name has all that confuses a parser.
    kernel.text(
        "/proc/self/task/1/stat",
        "1 (a ) b (c) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28"
            + " 29 30 31 32 33 34 35 5 0 0");

    assertEquals(Set.of(4, 5), workerCpus(NumaPolicy.inherit()));
  }

  @Test
  void threadsThatTouchKeepTheCallersPolicy() {
    twoNodes();
    kernel.place = new ThreadPlace(MPOL_INTERLEAVE, Set.of(0, 1), Set.of(0, 1, 4, 5));

    assertEquals(Set.of(0, 1, 4, 5), workerCpus(NumaPolicy.inherit()));
    assertTrue(
        kernel.callsOf("placeThread").getFirst().contains("mode=3, nodes=[0, 1]"),
        () -> kernel.calls.toString());
  }

  @Test
  void threadsThatTouchRunBesideTheNodesThatWereAskedForWhereTheCallerMay() {
    twoNodes();
    kernel.nodeOfPage = (offset, index) -> 1;
    assertEquals(Set.of(4, 5), workerCpus(NumaPolicy.bind(1)));

    kernel.calls.clear();
    kernel.place = new ThreadPlace(0, Set.of(), Set.of(0, 1));
    assertEquals(Set.of(0, 1), workerCpus(NumaPolicy.bind(1)));
  }

  @Test
  void aCallersPlaceThatCannotBeReadIsNotedAndThreadsInheritWhatTheyGet() {
    kernel.placeRefusal = Optional.of(ScriptedKernel.refusal("get_mempolicy", Errno.EPERM));

    try (HostRegion region = map(NumaPolicy.inherit())) {
      assertEquals(List.of(), kernel.callsOf("placeThread"));
      assertTrue(
          region.receipt().notes().stream()
              .anyMatch(note -> note.startsWith("the caller's memory policy and CPUs cannot")),
          () -> region.receipt().toString());
    }
  }

  @Test
  void whatIsNotAskedIsNotDone() {
    twoNodes();
    kernel.nodeOfPage = (offset, index) -> 1;

    try (HostRegion region =
        backend
            .pageSource()
            .map(HostRequest.ofBytes(MIB).numa(NumaPolicy.bind(0)).placement(Demand.OFF))) {
      assertEquals(List.of(), kernel.callsOf("bind"));
      assertEquals(0, region.receipt().bytesElsewhere());
    }
  }

  @Test
  void anInheritedStrictPolicyIsVerifiedToo() {
    twoNodes();
    kernel.place = new ThreadPlace(MPOL_BIND, Set.of(0), Set.of(0, 1));
    kernel.nodeOfPage = (offset, index) -> 1;

    PlacementException wrong =
        assertThrows(PlacementException.class, () -> map(NumaPolicy.inherit()));

    assertEquals(MIB, wrong.receipt().bytesElsewhere());
  }

  @Test
  void numbersAreReadAndWrittenAsSysfsDoes() {
    assertEquals(Set.of(0, 1, 2, 3, 8), NumberList.parse("0-3,8\n"));
    assertEquals(Set.of(), NumberList.parse("\n"));
    assertEquals("0-3,8", NumberList.text(Set.of(8, 3, 1, 0, 2)));
    assertEquals("none", NumberList.text(Set.of()));
  }
}
