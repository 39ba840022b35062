package io.holdfast.conformance.vm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.Backend;
import io.holdfast.device.Demand;
import io.holdfast.error.UnsupportedException;
import io.holdfast.host.HostRegion;
import io.holdfast.host.HostRequest;
import io.holdfast.host.NumaPolicy;
import io.holdfast.host.PageKind;
import io.holdfast.host.PlacementException;
import io.holdfast.host.Shortfall;
import io.holdfast.host.ShortfallException;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.HostKernel.Advice;
import io.holdfast.spi.HostKernels;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What runs out on a node or in a control group is named, and nothing is kept. */
final class GuestShortage {
  private static final Path GROUP = Path.of("/sys/fs/cgroup/limited");

  private final Backend backend = Guest.backend();

  @AfterEach
  void close() {
    backend.close();
    Guest.pools(0, 0);
  }

  private static HostRequest huge(long bytes) {
    return HostRequest.ofBytes(bytes).pages(PageKind.hugeTlb(Guest.HUGE));
  }

  private static Shortfall.Limit only(ShortfallException error) {
    assertEquals(1, error.shortfall().limits().size(), error::toString);
    return error.shortfall().limits().getFirst();
  }

  private static ShortfallException refused(Backend backend, HostRequest request) {
    return assertThrows(ShortfallException.class, () -> backend.pageSource().map(request).close());
  }

  @Test
  void a_node_that_has_half_the_pages_is_named_before_any_is_taken() {
    Guest.pools(40, 20);

    Shortfall.Limit limit = only(refused(backend, huge(80 * Guest.MIB).numa(NumaPolicy.bind(1))));

    assertEquals(OptionalInt.of(1), limit.node());
    assertEquals(List.of(40L, 20L), List.of(limit.needed(), limit.available()));
    assertTrue(limit.remedy().contains("echo 40 > " + Guest.pool(1, Guest.HUGE)), limit::remedy);
    assertEquals(List.of(40L, 20L), List.of(Guest.free(0, Guest.HUGE), Guest.free(1, Guest.HUGE)));
    // The other node has them, and so have both together.
    backend.pageSource().map(huge(80 * Guest.MIB).numa(NumaPolicy.bind(0))).close();
    backend.pageSource().map(huge(120 * Guest.MIB).numa(NumaPolicy.bind(0, 1))).close();
    assertEquals(List.of(40L, 20L), List.of(Guest.free(0, Guest.HUGE), Guest.free(1, Guest.HUGE)));
  }

  @Test
  void the_remedy_that_is_printed_is_the_one_that_works() {
    Guest.pools(40, 20);
    HostRequest request = huge(80 * Guest.MIB).numa(NumaPolicy.bind(1));
    String[] words = only(refused(backend, request)).remedy().split("[ ;]", -1);
    assertEquals("echo", words[0]);

    Guest.write(Path.of(words[3]), words[1]);

    backend.pageSource().map(request).close();
  }

  @Test
  void a_node_that_another_takes_pages_from_between_check_and_populate_is_named_too() {
    Guest.pools(0, 20);
    AtomicReference<HostRegion> thief = new AtomicReference<>();
    HostKernel late =
        before(
            Advice.POPULATE_WRITE,
            _ -> {
              if (thief.get() == null) {
                thief.set(
                    backend
                        .pageSource()
                        .map(
                            HostRequest.ofBytes(10 * Guest.HUGE)
                                .pages(PageKind.directory(hugetlbfs()))
                                .numa(NumaPolicy.bind(1))));
              }
            });
    // Node 0 gets pages to promise for the whole pool; those of node 1 are the only ones to bind.
    Guest.write(Guest.pool(0, Guest.HUGE), 20);
    try (Backend slow = Guest.backend(late)) {
      Shortfall.Limit limit = only(refused(slow, huge(20 * Guest.HUGE).numa(NumaPolicy.bind(1))));
      assertEquals(OptionalInt.of(1), limit.node());
      assertEquals(List.of(20L, 10L), List.of(limit.needed(), limit.available()));
    }
    assertEquals(10, Guest.free(1, Guest.HUGE));
    thief.get().close();
    assertEquals(20, Guest.free(1, Guest.HUGE));
  }

  private static Path hugetlbfs() {
    Path mount = Path.of("/guest/thief");
    try {
      if (!Files.exists(mount)) {
        Files.createDirectory(mount);
        assertEquals(
            0,
            new ProcessBuilder(
                    "/guest/busybox", "mount", "-t", "hugetlbfs", "none", mount.toString())
                .start()
                .waitFor());
      }
    } catch (IOException | InterruptedException failure) {
      throw new AssertionError(failure);
    }
    return mount;
  }

  @Test
  void one_gib_pages_are_short_by_node_like_others() {
    Shortfall.Limit limit =
        only(
            refused(
                backend,
                HostRequest.ofBytes(2 * Guest.GIANT)
                    .pages(PageKind.hugeTlb(Guest.GIANT))
                    .numa(NumaPolicy.bind(0))));

    assertEquals(OptionalInt.of(0), limit.node());
    assertEquals(List.of(2L, 1L), List.of(limit.needed(), limit.available()));
    assertEquals(Guest.GIANT, limit.unitBytes());
    assertEquals(1, Guest.free(0, Guest.GIANT));
  }

  @Test
  void memory_of_a_small_node_is_not_taken_beyond_what_it_has() {
    Shortfall.Limit limit =
        only(refused(backend, HostRequest.ofBytes(768 * Guest.MIB).numa(NumaPolicy.bind(2))));

    assertEquals(OptionalInt.of(2), limit.node());
    assertTrue(limit.available() * limit.unitBytes() < 512 * Guest.MIB, limit::describe);
  }

  @Test
  void a_preferred_node_that_runs_out_overflows_and_the_receipt_has_the_split() {
    Guest.pools(40, 5);

    try (HostRegion region =
        backend.pageSource().map(huge(20 * Guest.HUGE).numa(NumaPolicy.preferred(1)))) {
      Map<Integer, Long> split = Map.of(0, 15 * Guest.HUGE, 1, 5 * Guest.HUGE);
      assertEquals(split, KernelsWord.of(region.segment()).bytesPerNode());
      assertEquals(split, region.receipt().bytesPerNode());
      assertEquals(15 * Guest.HUGE, region.receipt().bytesElsewhere());
    }
  }

  @Test
  void turns_that_one_node_cannot_take_are_a_disagreement() {
    Guest.pools(40, 0);
    HostRequest request = huge(20 * Guest.HUGE).numa(NumaPolicy.interleave(0, 1));

    PlacementException uneven =
        assertThrows(PlacementException.class, () -> backend.pageSource().map(request).close());

    assertEquals(Map.of(0, 20 * Guest.HUGE), uneven.receipt().bytesPerNode());
    assertEquals(40, Guest.free(0, Guest.HUGE));
    try (HostRegion region = backend.pageSource().map(request.placement(Demand.PREFER))) {
      assertTrue(
          region.receipt().notes().stream().anyMatch(note -> note.startsWith("not as asked: ")),
          () -> region.receipt().toString());
      assertEquals(
          KernelsWord.of(region.segment()).bytesPerNode(), region.receipt().bytesPerNode());
    }
  }

  @Test
  void pages_that_somebody_moves_away_are_found_on_the_wrong_node() {
    HostKernel moving =
        after(Advice.POPULATE_WRITE, pages -> Calls.move(pages.asSlice(0, 4096), 0));
    HostRequest request = HostRequest.ofBytes(4 * Guest.MIB).numa(NumaPolicy.bind(1));
    try (Backend moved = Guest.backend(moving)) {
      PlacementException wrong =
          assertThrows(PlacementException.class, () -> moved.pageSource().map(request).close());
      assertEquals(Map.of(0, 4096L, 1, 4 * Guest.MIB - 4096), wrong.receipt().bytesPerNode());
      assertEquals(4096, wrong.receipt().bytesElsewhere());

      try (HostRegion region = moved.pageSource().map(request.placement(Demand.PREFER))) {
        assertEquals(4096, region.receipt().bytesElsewhere());
        assertEquals(
            KernelsWord.of(region.segment()).bytesPerNode(), region.receipt().bytesPerNode());
      }
    }
  }

  /** This process in a group below the root, which has the files given; then back again. */
  private static void inGroup(Map<String, Object> limits, Runnable work) throws IOException {
    Path inner = GROUP.resolve("inner");
    Files.createDirectories(GROUP);
    Guest.write(GROUP.resolve("cgroup.subtree_control"), "+hugetlb +memory +cpuset");
    Files.createDirectories(inner);
    limits.forEach((file, value) -> Guest.write(GROUP.resolve(file), value));
    long me = ProcessHandle.current().pid();
    Guest.write(inner.resolve("cgroup.procs"), me);
    try {
      work.run();
    } finally {
      Guest.write(Path.of("/sys/fs/cgroup/cgroup.procs"), me);
      Files.delete(inner);
      Files.delete(GROUP);
    }
  }

  @Test
  void a_groups_limit_on_huge_pages_binds_from_an_ancestor_too() throws IOException {
    Guest.pools(40, 20);
    for (String file : List.of("hugetlb.2MB.max", "hugetlb.2MB.rsvd.max")) {
      inGroup(
          Map.of(file, 8 * Guest.MIB),
          () -> {
            backend.pageSource().map(huge(8 * Guest.MIB)).close();

            Shortfall.Limit limit = only(refused(backend, huge(20 * Guest.MIB)));

            assertTrue(limit.name().contains(GROUP + "/" + file), limit::name);
            assertEquals(List.of(10L, 4L), List.of(limit.needed(), limit.available()));
            assertTrue(
                limit.remedy().contains("echo " + 20 * Guest.MIB + " > " + GROUP + "/" + file),
                limit::remedy);
          });
      assertEquals(
          List.of(40L, 20L), List.of(Guest.free(0, Guest.HUGE), Guest.free(1, Guest.HUGE)));
    }
  }

  @Test
  void a_groups_limit_that_the_check_cannot_see_is_a_typed_error_all_the_same() throws IOException {
    Guest.pools(40, 20);
    HostKernel blind =
        answering(
            (method, arguments) ->
                method.getName().equals("text")
                        && arguments[0].toString().startsWith("/sys/fs/cgroup")
                    ? Optional.of(Optional.empty())
                    : Optional.empty());
    for (String file : List.of("hugetlb.2MB.max", "hugetlb.2MB.rsvd.max")) {
      inGroup(
          Map.of(file, 8 * Guest.MIB),
          () -> {
            try (Backend other = Guest.backend(blind)) {
              ShortfallException error = refused(other, huge(20 * Guest.MIB));
              assertFalse(error.getCause() == null, "the kernel's refusal is the cause");
            }
          });
      assertEquals(
          List.of(40L, 20L), List.of(Guest.free(0, Guest.HUGE), Guest.free(1, Guest.HUGE)));
    }
  }

  @Test
  void a_groups_limit_on_memory_binds_before_the_kernel_kills() throws IOException {
    inGroup(
        Map.of("memory.max", 128 * Guest.MIB),
        () -> {
          backend.pageSource().map(HostRequest.ofBytes(32 * Guest.MIB)).close();

          Shortfall.Limit limit = only(refused(backend, HostRequest.ofBytes(256 * Guest.MIB)));

          assertTrue(limit.name().contains(GROUP + "/memory.max"), limit::name);
          // Pages of a pool are counted elsewhere.
          Guest.pools(80, 80);
          backend.pageSource().map(huge(256 * Guest.MIB)).close();
        });
  }

  @Test
  void nodes_outside_a_groups_cpuset_are_refused_by_name() throws IOException {
    inGroup(
        Map.of("cpuset.mems", "1"),
        () -> {
          UnsupportedException outside =
              assertThrows(
                  UnsupportedException.class,
                  () ->
                      backend
                          .pageSource()
                          .map(HostRequest.ofBytes(Guest.MIB).numa(NumaPolicy.interleave(0, 1))));
          assertTrue(
              String.valueOf(outside.getMessage())
                  .contains("memory on node 0 is not supported here: this process may use node 1"),
              outside::toString);
          try (HostRegion region = backend.pageSource().map(HostRequest.ofBytes(Guest.MIB))) {
            assertEquals(Map.of(1, Guest.MIB), region.receipt().bytesPerNode());
          }
        });
  }

  /** A change to the kernel's answers: empty for none. */
  @FunctionalInterface
  private interface Answers {
    Optional<Object> to(Method method, Object[] arguments);
  }

  /** Work with pages. */
  @FunctionalInterface
  private interface OnPages {
    void run(MemorySegment pages);
  }

  private static HostKernel answering(Answers answers) {
    HostKernel real = HostKernels.system();
    return (HostKernel)
        Proxy.newProxyInstance(
            HostKernel.class.getClassLoader(),
            new Class<?>[] {HostKernel.class},
            (_, method, arguments) -> {
              Optional<Object> answer = answers.to(method, arguments);
              return answer.isPresent() ? answer.get() : invoke(real, method, arguments);
            });
  }

  private static Object invoke(HostKernel real, Method method, Object[] arguments)
      throws Throwable {
    try {
      return method.invoke(real, arguments);
    } catch (InvocationTargetException refused) {
      throw refused.getCause();
    }
  }

  private static HostKernel before(Advice advice, OnPages work) {
    return answering(
        (method, arguments) -> {
          if (method.getName().equals("advise") && arguments[1] == advice) {
            work.run((MemorySegment) arguments[0]);
          }
          return Optional.empty();
        });
  }

  private static HostKernel after(Advice advice, OnPages work) {
    HostKernel real = HostKernels.system();
    return (HostKernel)
        Proxy.newProxyInstance(
            HostKernel.class.getClassLoader(),
            new Class<?>[] {HostKernel.class},
            (_, method, arguments) -> {
              Object answer = invoke(real, method, arguments);
              if (method.getName().equals("advise") && arguments[1] == advice) {
                work.run((MemorySegment) arguments[0]);
              }
              return answer;
            });
  }
}
