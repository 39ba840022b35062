package io.holdfast.internal.host;

import io.holdfast.error.Errno;
import io.holdfast.error.HostKernelException;
import io.holdfast.host.SharedRequest;
import io.holdfast.host.SharingException;
import io.holdfast.host.SharingException.Reason;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.HostKernel.DirectoryHandle;
import io.holdfast.spi.HostKernel.FileFacts;
import io.holdfast.spi.HostKernel.FileHandle;
import io.holdfast.spi.HostKernel.FileKind;
import io.holdfast.spi.HostKernel.LockMode;
import io.holdfast.spi.HostKernel.OpenMode;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * How the ranks of a shared region come together.
 *
 * <p>The first makes two names with one exclusive step each: the control page and the memory, still
 * empty. The others find them, check that they want the same, and take their places. When all are
 * there the creator removes both names, and only then gives the memory its size: whatever dies
 * before leaves two small names and no memory, whatever dies after leaves nothing at all.
 *
 * <p>Locks prove life, because the kernel gives them up with the process: everyone who has come
 * holds the control page's lock together, the creator holds the memory's alone. A name whose lock
 * can be had alone belongs to nobody; who has such a lock may remove the name, and whoever gets a
 * lock looks afterwards whether the name is still there.
 */
final class Meeting implements AutoCloseable {
  private static final long PAUSE_NANOS = Duration.ofMillis(2).toNanos();

  // Others than the owner have no permission at all.
  private static final int OTHERS = 077;

  private final HostKernel kernel;
  private final SharedRequest request;
  private final int rank;
  private final DirectoryHandle controlFolder;
  private final DirectoryHandle dataFolder;
  private final Geometry geometry;
  private final long deadline;

  private @Nullable FileHandle control;
  private @Nullable FileHandle data;
  private @Nullable ControlPage page;
  private boolean creator;

  /**
   * What all ranks must agree on.
   *
   * @param logicalBytes of each rank
   * @param sliceBytes the same in whole pages
   * @param pageBytes the backing page
   */
  record Geometry(long logicalBytes, long sliceBytes, long pageBytes) {}

  Meeting(
      HostKernel kernel,
      SharedRequest request,
      int rank,
      DirectoryHandle controlFolder,
      DirectoryHandle dataFolder,
      Geometry geometry) {
    this.kernel = kernel;
    this.request = request;
    this.rank = rank;
    this.controlFolder = controlFolder;
    this.dataFolder = dataFolder;
    this.geometry = geometry;
    // A wait beyond what a long of nanoseconds holds is as good as for ever.
    long patience = nanos(request.patience());
    this.deadline = kernel.nanoTime() + Math.min(patience, Long.MAX_VALUE / 2);
  }

  static long nanos(Duration wait) {
    try {
      return wait.toNanos();
    } catch (ArithmeticException longer) {
      return Long.MAX_VALUE;
    }
  }

  /**
   * Comes together with all other ranks; afterwards the names are gone.
   *
   * @param beforeCreating run by the creator alone, before others can join; its exception ends all
   * @param sizing run by the creator alone, once all are there: gives the memory its size and maps
   *     it
   * @param joining run by all others after that
   * @return what mapping it gave
   * @throws SharingException when they do not come together
   */
  <T> T comeTogether(Runnable beforeCreating, MapsFile<T> sizing, MapsFile<T> joining) {
    while (true) {
      Optional<FileHandle> fresh =
          claim(controlFolder, SharedNames.control(request.name()), LockMode.SHARED);
      if (fresh.isPresent()) {
        control = fresh.get();
        creator = true;
        create(beforeCreating);
        awaitAll();
        return finish(sizing);
      }
      if (join()) {
        awaitReady();
        return joining.map(there(data));
      }
      requireTime();
      kernel.pause(PAUSE_NANOS);
    }
  }

  /** Maps an open file. */
  @FunctionalInterface
  interface MapsFile<T> {
    T map(FileHandle file);
  }

  /** The control page, from now on the caller's. */
  ControlPage takePage() {
    ControlPage taken = there(page);
    page = null;
    return taken;
  }

  /** The memory's file, from now on the caller's. */
  FileHandle takeFile() {
    FileHandle taken = there(data);
    data = null;
    return taken;
  }

  private static <T> T there(@Nullable T thing) {
    if (thing == null) {
      throw new IllegalStateException("the ranks have not come together");
    }
    return thing;
  }

  // ---- the creator

  /** Makes a name that must be new, and locks it; empty where the name is there already. */
  private Optional<FileHandle> claim(DirectoryHandle folder, String name, LockMode mode) {
    FileHandle file;
    try {
      file = kernel.open(folder, name, OpenMode.CREATE_NEW);
    } catch (HostKernelException refused) {
      if (refused.is(Errno.EEXIST)) {
        return Optional.empty();
      }
      throw refused;
    }
    boolean ours = false;
    try {
      while (!kernel.tryLock(file, mode)) {
        requireTime();
        kernel.pause(PAUSE_NANOS);
      }
      // Between the two steps a reaper may have taken it for nobody's.
      ours = kernel.facts(file).links() > 0;
    } finally {
      if (!ours) {
        kernel.close(file);
      }
    }
    return ours ? Optional.of(file) : Optional.empty();
  }

  private void create(Runnable beforeCreating) {
    beforeCreating.run();
    data = claimData();
    FileFacts facts = kernel.facts(there(data));
    kernel.allocate(there(control), kernel.basePageBytes());
    page = ControlPage.of(kernel, there(control));
    ControlPage words = there(page);
    words.set(ControlPage.AT_VERSION, ControlPage.VERSION);
    words.set(ControlPage.AT_RANKS, request.ranks());
    words.set(ControlPage.AT_LOGICAL_BYTES, geometry.logicalBytes());
    words.set(ControlPage.AT_SLICE_BYTES, geometry.sliceBytes());
    words.set(ControlPage.AT_PAGE_BYTES, geometry.pageBytes());
    words.set(ControlPage.AT_DEVICE, facts.device());
    words.set(ControlPage.AT_INODE, facts.inode());
    words.set(ControlPage.AT_OWNER, ProcessHandle.current().pid());
    words.set(ControlPage.atProcess(rank), ProcessHandle.current().pid());
    words.set(ControlPage.AT_JOINED, 1);
    words.set(ControlPage.AT_MAGIC, ControlPage.MAGIC);
    words.set(ControlPage.AT_STATE, ControlPage.OPEN);
  }

  private FileHandle claimData() {
    String name = SharedNames.data(request.name());
    while (true) {
      Optional<FileHandle> fresh = claim(dataFolder, name, LockMode.EXCLUSIVE);
      if (fresh.isPresent()) {
        return fresh.get();
      }
      if (!Reaper.removeIfStale(kernel, dataFolder, name)) {
        requireTime();
        kernel.pause(PAUSE_NANOS);
      }
    }
  }

  private void awaitAll() {
    ControlPage words = there(page);
    while (words.get(ControlPage.AT_JOINED) < request.ranks()) {
      if (words.get(ControlPage.AT_STATE) == ControlPage.FAILED) {
        throw failure(Reason.PEER_FAILED, "another rank gave up");
      }
      if (kernel.nanoTime() - deadline >= 0
          && words.replace(ControlPage.AT_STATE, ControlPage.OPEN, ControlPage.FAILED)) {
        throw failure(Reason.TIMEOUT, "the others did not come within " + request.patience());
      }
      kernel.pause(PAUSE_NANOS);
    }
    if (!words.replace(ControlPage.AT_STATE, ControlPage.OPEN, ControlPage.MAPPING)) {
      throw failure(Reason.PEER_FAILED, "another rank gave up");
    }
  }

  private <T> T finish(MapsFile<T> sizing) {
    removeNames();
    T mapped = sizing.map(there(data));
    there(page).set(ControlPage.AT_STATE, ControlPage.READY);
    return mapped;
  }

  private void removeNames() {
    remove(dataFolder, SharedNames.data(request.name()), data);
    remove(controlFolder, SharedNames.control(request.name()), control);
  }

  // By identity: under the same name there may be another file by now.
  private void remove(DirectoryHandle folder, String name, @Nullable FileHandle file) {
    if (file == null) {
      return;
    }
    try {
      if (kernel.factsOf(folder, name).sameFileAs(kernel.facts(file))) {
        kernel.unlink(folder, name);
      }
    } catch (HostKernelException refused) {
      if (!refused.is(Errno.ENOENT)) {
        throw refused;
      }
    }
  }

  // ---- all others

  /** Takes this rank's place; false where there is nothing to join yet, or nothing any more. */
  private boolean join() {
    String name = SharedNames.control(request.name());
    FileHandle file;
    try {
      file = kernel.open(controlFolder, name, OpenMode.EXISTING);
    } catch (HostKernelException refused) {
      if (refused.is(Errno.ENOENT)) {
        return false;
      }
      if (refused.is(Errno.ELOOP) || refused.is(Errno.EACCES) || refused.is(Errno.EISDIR)) {
        throw failure(Reason.NOT_OURS, name + " is no file of ours: " + refused.errnoName());
      }
      throw refused;
    }
    boolean joined = false;
    try {
      requireOurs(name, kernel.facts(file));
      joined = join(file, name);
      return joined;
    } finally {
      if (!joined) {
        release(file);
      }
    }
  }

  private boolean join(FileHandle file, String name) {
    if (Reaper.removeIfStale(kernel, controlFolder, name, file)) {
      return false;
    }
    // Before its space is taken a touch of it could be a bus error; tmpfs takes the space first,
    // and a touch behind the end is one, too, until the length is there.
    FileFacts facts = kernel.facts(file);
    if (Math.min(facts.allocatedBytes(), facts.bytes()) < kernel.basePageBytes()) {
      return false;
    }
    ControlPage words = ControlPage.of(kernel, file);
    boolean joined = false;
    try {
      joined =
          words.get(ControlPage.AT_STATE) == ControlPage.OPEN
              && kernel.tryLock(file, LockMode.SHARED)
              && kernel.facts(file).links() > 0
              && takePlace(words);
      if (joined) {
        control = file;
        page = words;
      }
      return joined;
    } finally {
      if (!joined) {
        words.close();
      }
    }
  }

  private boolean takePlace(ControlPage words) {
    requireSame("version", ControlPage.VERSION, words.get(ControlPage.AT_VERSION));
    requireSame("magic", ControlPage.MAGIC, words.get(ControlPage.AT_MAGIC));
    requireSame("ranks", request.ranks(), words.get(ControlPage.AT_RANKS));
    requireSame("logical bytes", geometry.logicalBytes(), words.get(ControlPage.AT_LOGICAL_BYTES));
    requireSame("slice bytes", geometry.sliceBytes(), words.get(ControlPage.AT_SLICE_BYTES));
    requireSame("page bytes", geometry.pageBytes(), words.get(ControlPage.AT_PAGE_BYTES));
    Optional<FileHandle> memory = openData(words);
    if (memory.isEmpty()) {
      return false; // the creator is removing its names
    }
    data = memory.get();
    if (!words.replace(ControlPage.atProcess(rank), 0, ProcessHandle.current().pid())) {
      throw new SharingException(
          Reason.RANK_TAKEN,
          request.name(),
          (int) words.get(ControlPage.AT_JOINED),
          request.ranks(),
          "rank " + rank + " is process " + words.get(ControlPage.atProcess(rank)));
    }
    words.increment(ControlPage.AT_JOINED);
    return true;
  }

  private Optional<FileHandle> openData(ControlPage words) {
    String name = SharedNames.data(request.name());
    FileHandle file;
    try {
      file = kernel.open(dataFolder, name, OpenMode.EXISTING);
    } catch (HostKernelException refused) {
      if (refused.is(Errno.ENOENT)) {
        return Optional.empty();
      }
      throw refused;
    }
    boolean same = false;
    try {
      FileFacts facts = kernel.facts(file);
      requireOurs(name, facts);
      same =
          facts.device() == words.get(ControlPage.AT_DEVICE)
              && facts.inode() == words.get(ControlPage.AT_INODE);
      return same ? Optional.of(file) : Optional.empty();
    } finally {
      if (!same) {
        kernel.close(file);
      }
    }
  }

  private void awaitReady() {
    ControlPage words = there(page);
    while (true) {
      // First the creator's life, then its word: the last it says before it lets go counts.
      boolean alive = !kernel.tryLock(there(data), LockMode.SHARED);
      if (!alive) {
        kernel.unlock(there(data));
      }
      long state = words.get(ControlPage.AT_STATE);
      if (state == ControlPage.READY) {
        requireWhole();
        return;
      }
      if (state == ControlPage.FAILED) {
        throw failure(Reason.PEER_FAILED, "another rank gave up or could not map it");
      }
      if (state != ControlPage.OPEN && state != ControlPage.MAPPING) {
        throw failure(Reason.MISMATCH, "its control page is in state " + state + ", which is none");
      }
      if (!alive) {
        boolean _ = words.replace(ControlPage.AT_STATE, state, ControlPage.FAILED);
        removeNames();
        throw failure(Reason.CREATOR_GONE, "its creator is gone");
      }
      if (state == ControlPage.OPEN
          && kernel.nanoTime() - deadline >= 0
          && words.replace(ControlPage.AT_STATE, ControlPage.OPEN, ControlPage.FAILED)) {
        throw failure(Reason.TIMEOUT, "the others did not come within " + request.patience());
      }
      kernel.pause(PAUSE_NANOS);
    }
  }

  /** A touch behind the end of a file that is too short would kill this process. */
  private void requireWhole() {
    long wanted = Math.multiplyExact(geometry.sliceBytes(), (long) request.ranks());
    long there = kernel.facts(there(data)).bytes();
    if (there < wanted) {
      throw failure(
          Reason.MISMATCH, "its memory has " + there + " bytes, and " + wanted + " are needed");
    }
  }

  private void requireSame(String what, long mine, long theirs) {
    if (mine != theirs) {
      throw failure(Reason.MISMATCH, what + " are " + mine + " here and " + theirs + " there");
    }
  }

  private void requireOurs(String name, FileFacts facts) {
    OptionalInt me = me();
    if (facts.kind() != FileKind.REGULAR
        || (facts.permissions() & OTHERS) != 0
        || (me.isPresent() && facts.owner() != me.getAsInt())) {
      throw failure(
          Reason.NOT_OURS,
          name
              + " is a "
              + facts.kind()
              + " of user "
              + facts.owner()
              + " with mode 0"
              + Integer.toOctalString(facts.permissions()));
    }
  }

  // A process's folder in procfs belongs to the user it acts for.
  private OptionalInt me() {
    try {
      DirectoryHandle self = kernel.openDirectory(Path.of("/proc/self"));
      try {
        return OptionalInt.of(kernel.facts(self).owner());
      } finally {
        kernel.close(self);
      }
    } catch (HostKernelException noProcfs) {
      return OptionalInt.empty();
    }
  }

  private void requireTime() {
    if (kernel.nanoTime() - deadline >= 0) {
      throw failure(Reason.TIMEOUT, "nothing could be joined within " + request.patience());
    }
  }

  private SharingException failure(Reason reason, String what) {
    ControlPage words = page;
    int joined = words == null ? 0 : (int) words.get(ControlPage.AT_JOINED);
    return new SharingException(reason, request.name(), joined, request.ranks(), what);
  }

  /**
   * Lets go of what nobody took over. A creator that did not finish tells the others and removes
   * its names; any other tells them that its slice will never be there.
   */
  @Override
  public void close() {
    ControlPage words = page;
    if (words != null && words.get(ControlPage.atProcess(rank)) == ProcessHandle.current().pid()) {
      words.set(ControlPage.atSlice(rank), ControlPage.NEVER);
    }
    boolean unfinished = words != null && words.get(ControlPage.AT_STATE) != ControlPage.READY;
    try {
      if (creator && (words == null || unfinished)) {
        if (words != null) {
          words.set(ControlPage.AT_STATE, ControlPage.FAILED);
        }
        removeNames();
      }
    } finally {
      if (words != null) {
        words.close();
      }
      release(control);
      release(data);
      control = null;
      data = null;
      page = null;
    }
  }

  private void release(@Nullable FileHandle file) {
    if (file != null) {
      kernel.close(file);
    }
  }
}
