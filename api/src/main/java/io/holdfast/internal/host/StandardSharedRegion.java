package io.holdfast.internal.host;

import io.holdfast.host.HostMemory;
import io.holdfast.host.HostRequest;
import io.holdfast.host.PlacementReceipt;
import io.holdfast.host.SharedRegion;
import io.holdfast.host.SharedRequest;
import io.holdfast.internal.core.Workers;
import io.holdfast.internal.tree.Standing;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;

/** One rank's mapping of the memory that all ranks share. */
final class StandardSharedRegion extends StandardRegion implements SharedRegion {
  private final SharedRequest shared;
  private final int rank;
  private final long sliceBytes;
  private final ControlPage page;
  private final SharedProgress progress;
  private final CompletableFuture<Void> own = new CompletableFuture<>();

  /**
   * Takes memory and control page over.
   *
   * @param whole the request for all slices as one
   * @throws IllegalStateException when the ground is closed; both are still the caller's
   */
  StandardSharedRegion(
      HostRequest whole,
      SharedRequest shared,
      int rank,
      Wish slice,
      RegionMemory memory,
      ControlPage page,
      SharedProgress progress,
      Workers workers,
      Standing ground) {
    this.shared = shared;
    this.rank = rank;
    this.sliceBytes = slice.mappedBytes();
    this.page = page;
    this.progress = progress;
    super(
        whole,
        slice.pageBytes(),
        memory,
        Views.over(memory.pages().address(), whole.logicalBytes()),
        progress,
        workers,
        ground);
  }

  @Override
  void succeed(PlacementReceipt got) {
    received(got);
    page.set(ControlPage.atSlice(rank), ControlPage.POPULATED);
    own.complete(null);
    Thread.ofPlatform().name("holdfast-share-" + rank).daemon().start(this::awaitAll);
  }

  // The others say it on their page only, so somebody has to look.
  private void awaitAll() {
    try {
      progress.await(0, mappedBytes());
      completed();
    } catch (RuntimeException never) {
      if (isOpen()) {
        neverCompleted(never); // what is mine stays good
      }
    }
  }

  @Override
  void fail(RuntimeException reason) {
    page.set(ControlPage.atSlice(rank), ControlPage.NEVER);
    super.fail(reason);
    own.completeExceptionally(reason);
  }

  /** Done when my own slice is there. */
  CompletableFuture<Void> own() {
    return own;
  }

  @Override
  public int rank() {
    return rank;
  }

  @Override
  public int ranks() {
    return shared.ranks();
  }

  @Override
  public HostMemory mine() {
    return sliceOf(rank);
  }

  @Override
  public HostMemory of(int peer) {
    Objects.checkIndex(peer, shared.ranks());
    requireOpen();
    if (peer != rank) {
      progress.awaitPeer(peer);
    }
    return sliceOf(peer);
  }

  private HostMemory sliceOf(int which) {
    return slice(which * sliceBytes, shared.perRank().logicalBytes());
  }

  @Override
  protected void release() {
    try {
      super.release();
    } finally {
      page.close();
      own.completeExceptionally(new IllegalStateException(name() + " is closed"));
    }
  }
}
