package io.holdfast.conformance;

import static io.holdfast.device.Order.unordered;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.copy.BlockCopies;
import io.holdfast.error.HoldfastException;
import io.holdfast.host.HostMemory;
import io.holdfast.host.HostRequest;
import io.holdfast.host.SharedRegion;
import io.holdfast.host.SharedRequest;
import io.holdfast.host.SharingException;
import io.holdfast.pin.PinRequest;
import io.holdfast.pin.PinnedRegion;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;

/** Several processes on one host. */
abstract class ProcessRules extends Rules {
  ProcessRules(Conformance kit) {
    super(kit);
  }

  /** Memory can be shared by processes where pages are the kernel's own. */
  private boolean claimed() {
    if (!hasPages()) {
      inverted("MULTIPROCESS");
      assertThrows(
          HoldfastException.class,
          () -> backend.pageSource().share(request("kit-none", 1), 0).close());
      assertEquals(0, tap.mappedBytes());
      return false;
    }
    return true;
  }

  private void needsProcesses() {
    if (!isThisProcess()) {
      throw missing("a host whose processes are real: this one is simulated");
    }
  }

  private static SharedRequest request(String name, int ranks) {
    return SharedRequest.named(name, ranks, HostRequest.ofBytes(256 << 10))
        .patience(Duration.ofSeconds(20));
  }

  private static String unique(String what) {
    return "kit-" + what + "-" + ProcessHandle.current().pid() + "-" + System.nanoTime();
  }

  @Test
  @Covers(Rule.MPR_01)
  final void mpr01_ranks_that_share_memory_see_one_anothers_bytes() {
    if (!claimed()) {
      return;
    }
    needsProcesses();
    String name = unique("share");
    Process peer = OtherProcess.start("share", name);
    try (SharedRegion mine = backend.pageSource().share(request(name, 2), 0)) {
      mine.ready().join();
      mine.mine().segment().set(ValueLayout.JAVA_BYTE, 10, (byte) 41);
      HostMemory theirs = mine.of(1);
      OtherProcess.say(peer, "look");
      assertEquals("seen 41", OtherProcess.hear(peer));
      assertEquals(42, theirs.segment().get(ValueLayout.JAVA_BYTE, 20));
      try (PinnedRegion pinned = device.pinner().pin(mine, PinRequest.strict())) {
        assertEquals(mine.mappedBytes(), pinned.registeredBytes());
      }
      OtherProcess.say(peer, "end");
      OtherProcess.end(peer);
    } finally {
      peer.destroyForcibly();
    }
  }

  @Test
  @Covers(Rule.MPR_02)
  final void mpr02_what_a_killed_process_shared_is_reaped() {
    if (!claimed()) {
      return;
    }
    needsProcesses();
    Path directory = Path.of("/dev/shm");
    String dead = unique("dead");
    String alive = unique("alive");
    Process peer = OtherProcess.start("wait", dead);
    Process survivor = OtherProcess.start("wait", alive);
    try {
      until(
          OtherProcess.PATIENCE,
          () ->
              OtherProcess.bytesOf(directory, dead) > 0
                  && OtherProcess.bytesOf(directory, alive) > 0,
          "a peer never made its file");
      peer.destroyForcibly();
      OtherProcess.gone(peer);
      List<String> reaped = backend.pageSource().reapStale(directory);
      assertEquals(0, OtherProcess.filesOf(directory, dead), "left behind; reaped: " + reaped);
      assertTrue(reaped.stream().anyMatch(one -> one.contains(dead)), reaped.toString());
      assertTrue(reaped.stream().noneMatch(one -> one.contains(alive)), reaped.toString());
      assertTrue(
          OtherProcess.filesOf(directory, alive) > 0, "what a living process shares was reaped");
    } finally {
      peer.destroyForcibly();
      survivor.destroyForcibly();
      OtherProcess.gone(survivor);
      var _ = backend.pageSource().reapStale(directory);
    }
  }

  @Test
  @Covers(Rule.MPR_03)
  final void mpr03_a_child_does_not_disturb_pinned_memory() {
    needsPagesOfThisProcess();
    withPool(
        2,
        4,
        pool -> {
          write(pool, 0, 61);
          Process child = OtherProcess.start("idle", "-");
          try {
            write(pool, 1, 62); // while the child lives: copy-on-write would move the page
            pool.load(BlockCopies.device(0, 1).host(0, 1), unordered()).await();
            pool.store(BlockCopies.device(0, 1).host(2, 3), unordered()).await();
            check(pool, 2, 61);
            check(pool, 3, 62);
            OtherProcess.say(child, "end");
            OtherProcess.end(child);
          } finally {
            child.destroyForcibly();
          }
          pool.store(BlockCopies.device(1).host(2), unordered()).await();
          check(pool, 2, 62);
        });
  }

  private void needsPagesOfThisProcess() {
    if (!isThisProcess()) {
      throw missing("a host whose processes are real: this one is simulated or has no pages");
    }
  }

  @Test
  @Covers(Rule.MPR_04)
  final void mpr04_ranks_that_ask_for_different_things_are_told() {
    if (!claimed()) {
      return;
    }
    String name = unique("mismatch");
    List<Throwable> told = new CopyOnWriteArrayList<>();
    Thread other =
        Thread.ofPlatform()
            .start(
                () -> {
                  SharedRequest different =
                      SharedRequest.named(name, 2, HostRequest.ofBytes(512 << 10))
                          .patience(Duration.ofSeconds(2));
                  try {
                    backend.pageSource().share(different, 1).close();
                  } catch (Throwable refused) {
                    told.add(refused);
                  }
                });
    try {
      backend.pageSource().share(request(name, 2).patience(Duration.ofSeconds(2)), 0).close();
    } catch (SharingException refused) {
      told.add(refused);
    }
    join(other);
    assertFalse(told.isEmpty(), "nobody was told");
    for (Throwable one : told) {
      SharingException refused = assertInstanceOf(SharingException.class, one);
      assertEquals(name, refused.name());
      assertEquals(2, refused.ranks());
    }
    assertTrue(
        told.stream()
            .anyMatch(
                one ->
                    ((SharingException) one).reason() == SharingException.Reason.MISMATCH
                        || ((SharingException) one).reason()
                            == SharingException.Reason.PEER_FAILED),
        told.toString());
    assertEquals(0, tap.mappedBytes());
    if (isThisProcess()) {
      assertEquals(0, OtherProcess.filesOf(Path.of("/dev/shm"), name));
    }
  }

  @Test
  @Covers(Rule.MPR_05)
  final void mpr05_a_rank_that_waits_in_vain_is_told_who_was_there() {
    if (!claimed()) {
      return;
    }
    String name = unique("alone");
    SharedRequest request = request(name, 3).patience(Duration.ofMillis(200));
    SharingException refused =
        assertThrows(
            SharingException.class,
            () -> {
              try (SharedRegion alone = backend.pageSource().share(request, 0)) {
                alone.of(2);
              }
            });
    assertEquals(SharingException.Reason.TIMEOUT, refused.reason());
    assertEquals(3, refused.ranks());
    assertTrue(refused.joined() <= 1, refused.getMessage());
    assertEquals(0, tap.mappedBytes());
  }
}
