package io.holdfast.internal.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.holdfast.error.HoldfastException;
import io.holdfast.host.HostRequest;
import io.holdfast.host.PageKind;
import io.holdfast.host.SharedRegion;
import io.holdfast.host.SharedRequest;
import io.holdfast.host.SharingException;
import io.holdfast.host.SharingException.Reason;
import io.holdfast.internal.core.CoreBackend;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.HostKernel.DirectoryHandle;
import io.holdfast.spi.HostKernel.FileFacts;
import io.holdfast.spi.HostKernel.FileHandle;
import io.holdfast.spi.HostKernel.LockMode;
import io.holdfast.spi.HostKernel.OpenMode;
import io.holdfast.spi.HostKernels;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A peer of the same user that writes what it likes into the page through which ranks meet. */
@Timeout(60)
final class HostilePeerTest {
  private static final long MIB = 1L << 20;
  private static final int WORDS = 24;

  @TempDir Path folder;

  private final HostKernel kernel = HostKernels.system();
  private CoreBackend backend;
  private Mounted tmpfs;

  @BeforeEach
  void open() throws IOException {
    assumeTrue(kernel.pages() == HostKernel.Pages.KERNEL, "needs Linux");
    backend = NoDevices.backend(kernel);
    tmpfs = Mounted.tmpfs(folder, "64m");
  }

  @AfterEach
  void close() throws IOException {
    if (backend != null) {
      backend.close();
    }
    if (tmpfs != null) {
      tmpfs.close();
    }
  }

  private SharedRequest request() {
    return SharedRequest.named(
            "prey", 2, HostRequest.ofBytes(MIB).pages(PageKind.directory(tmpfs.point())))
        .patience(Duration.ofMillis(20));
  }

  /** What a creator leaves for others, alive and holding its locks. */
  private final class Peer implements AutoCloseable {
    private final DirectoryHandle in = kernel.openDirectory(tmpfs.point());
    private final FileHandle data = kernel.open(in, SharedNames.data("prey"), OpenMode.CREATE_NEW);
    private final FileHandle control =
        kernel.open(in, SharedNames.control("prey"), OpenMode.CREATE_NEW);
    private final ControlPage page;

    Peer(long dataBytes) {
      kernel.allocate(data, dataBytes);
      kernel.allocate(control, kernel.basePageBytes());
      assertTrue(kernel.tryLock(data, LockMode.EXCLUSIVE));
      assertTrue(kernel.tryLock(control, LockMode.SHARED));
      page = ControlPage.of(kernel, control);
      FileFacts facts = kernel.facts(data);
      page.set(ControlPage.AT_VERSION, ControlPage.VERSION);
      page.set(ControlPage.AT_MAGIC, ControlPage.MAGIC);
      page.set(ControlPage.AT_RANKS, 2);
      page.set(ControlPage.AT_LOGICAL_BYTES, MIB);
      page.set(ControlPage.AT_SLICE_BYTES, MIB);
      page.set(ControlPage.AT_PAGE_BYTES, kernel.basePageBytes());
      page.set(ControlPage.AT_DEVICE, facts.device());
      page.set(ControlPage.AT_INODE, facts.inode());
      page.set(ControlPage.AT_JOINED, 1);
      page.set(ControlPage.AT_STATE, ControlPage.OPEN);
    }

    /** Says something else as soon as the other has joined. */
    void thenSay(long state) {
      Thread.ofPlatform()
          .daemon()
          .start(
              () -> {
                while (page.get(ControlPage.AT_JOINED) < 2) {
                  Thread.yield();
                }
                page.set(ControlPage.AT_STATE, state);
              });
    }

    @Override
    public void close() {
      for (String name : kernel.entries(in)) {
        kernel.unlink(in, name);
      }
      page.close();
      kernel.close(control);
      kernel.close(data);
      kernel.close(in);
    }
  }

  private SharingException join() {
    return assertThrows(
        SharingException.class,
        () -> backend.pageSource().share(request().patience(Duration.ofSeconds(20)), 1));
  }

  @Test
  void a_state_that_is_none_ends_the_wait() {
    try (Peer peer = new Peer(2 * MIB)) {
      peer.thenSay(77);
      assertEquals(Reason.MISMATCH, join().reason());
    }
  }

  /** As one that was killed right after it had mapped the memory. */
  @Test
  void a_peer_that_never_populates_its_slice_is_given_up() throws Exception {
    try (Peer peer = new Peer(2 * MIB)) {
      peer.thenSay(ControlPage.READY);
      try (SharedRegion region =
          backend.pageSource().share(request().patience(Duration.ofSeconds(1)), 1)) {
        ExecutionException ended =
            assertThrows(ExecutionException.class, () -> region.ready().get(30, TimeUnit.SECONDS));
        SharingException told = assertInstanceOf(SharingException.class, ended.getCause());
        assertEquals(Reason.TIMEOUT, told.reason());
        assertThrows(SharingException.class, () -> region.of(0));
        assertEquals(MIB, region.mine().logicalBytes());
      }
    }
  }

  @Test
  void memory_that_is_too_short_is_refused_before_a_touch_could_kill() {
    try (Peer peer = new Peer(kernel.basePageBytes())) {
      peer.thenSay(ControlPage.READY);
      SharingException refused = join();
      assertEquals(Reason.MISMATCH, refused.reason());
      assertTrue(String.valueOf(refused.getMessage()).contains("2097152"), refused::toString);
    }
  }

  /** What tmpfs shows for an instant while it takes a file's space. */
  @Test
  void a_page_whose_space_is_taken_but_whose_length_is_not_there_is_not_touched() throws Exception {
    DirectoryHandle in = kernel.openDirectory(tmpfs.point());
    String name = SharedNames.control("prey");
    FileHandle control = kernel.open(in, name, OpenMode.CREATE_NEW);
    try {
      assertTrue(kernel.tryLock(control, LockMode.SHARED));
      Process without =
          new ProcessBuilder(
                  "fallocate",
                  "--keep-size",
                  "--length",
                  Long.toString(kernel.basePageBytes()),
                  tmpfs.point().resolve(name).toString())
              .inheritIO()
              .start();
      assertEquals(0, without.waitFor());
      assertEquals(kernel.basePageBytes(), kernel.facts(control).allocatedBytes());
      assertEquals(0, kernel.facts(control).bytes());
      SharingException refused =
          assertThrows(
              SharingException.class, () -> backend.pageSource().share(request(), 1).close());
      assertEquals(Reason.TIMEOUT, refused.reason());
    } finally {
      kernel.unlink(in, name);
      kernel.close(control);
      kernel.close(in);
    }
  }

  @Test
  void whatever_the_words_are_joining_ends_with_a_typed_error() {
    for (long seed = 0; seed < 40; seed++) {
      SplittableRandom random = new SplittableRandom(seed);
      try (Peer peer = new Peer(kernel.basePageBytes())) {
        for (int i = 0; i < 3; i++) {
          int word = random.nextInt(WORDS);
          long value = random.nextBoolean() ? random.nextInt(-1, 6) : random.nextLong();
          peer.page.set(word, value);
        }
        RuntimeException ended =
            assertThrows(
                RuntimeException.class,
                () -> backend.pageSource().share(request(), 1),
                "seed " + seed);
        assertInstanceOf(HoldfastException.class, ended, "seed " + seed);
        assertEquals(List.of(), backend.stillOpen(), "seed " + seed);
      }
    }
  }
}
