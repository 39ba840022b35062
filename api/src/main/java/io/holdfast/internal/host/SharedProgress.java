package io.holdfast.internal.host;

import io.holdfast.host.SharedRequest;
import io.holdfast.host.SharingException;
import io.holdfast.host.SharingException.Reason;
import io.holdfast.spi.HostKernel;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** How far the slices of all ranks are: my own by what I did, the others by what they say. */
final class SharedProgress implements Progress {
  private static final long PAUSE_NANOS = Duration.ofMillis(2).toNanos();

  /** A rank that is alive may need so long for a slice of the populating. */
  private static final long LEAST_PATIENCE_NANOS = Duration.ofSeconds(2).toNanos();

  private final HostKernel kernel;
  private final SharedRequest request;
  private final int rank;
  private final long sliceBytes;
  private final ControlPage page;
  private final Watermark mine;
  private volatile @Nullable RuntimeException end;

  SharedProgress(
      HostKernel kernel,
      SharedRequest request,
      int rank,
      long sliceBytes,
      ControlPage page,
      Watermark mine) {
    this.kernel = kernel;
    this.request = request;
    this.rank = rank;
    this.sliceBytes = sliceBytes;
    this.page = page;
    this.mine = mine;
  }

  @Override
  public long fromStart() {
    for (int each = 0; each < request.ranks(); each++) {
      if (each == rank && mine.fromStart() < sliceBytes) {
        return each * sliceBytes + mine.fromStart();
      }
      if (each != rank && !isThere(each)) {
        return each * sliceBytes;
      }
    }
    return request.ranks() * sliceBytes;
  }

  private boolean isThere(int each) {
    return page.get(ControlPage.atSlice(each)) == ControlPage.POPULATED;
  }

  @Override
  public boolean has(long offsetBytes, long bytes) {
    long end = offsetBytes + bytes;
    for (int each = (int) (offsetBytes / sliceBytes); each * sliceBytes < end; each++) {
      if (each == rank
          ? !mine.has(0, Math.min(end - each * sliceBytes, sliceBytes))
          : !isThere(each)) {
        return false;
      }
    }
    return true;
  }

  @Override
  public void await(long offsetBytes, long bytes) {
    long end = offsetBytes + bytes;
    for (int each = (int) (offsetBytes / sliceBytes); each * sliceBytes < end; each++) {
      if (each == rank) {
        mine.await(0, Math.min(end - each * sliceBytes, sliceBytes));
      } else {
        awaitPeer(each);
      }
    }
  }

  /**
   * Waits for another rank's slice while it grows.
   *
   * @throws SharingException when the rank gives up, or does nothing for too long: it may be dead
   */
  void awaitPeer(int peer) {
    long patience = Math.max(LEAST_PATIENCE_NANOS, Meeting.nanos(request.patience()));
    long since = kernel.nanoTime();
    long before = page.get(ControlPage.atSlice(peer));
    while (!isThere(peer)) {
      RuntimeException reason = end;
      if (reason != null) {
        throw reason;
      }
      long now = page.get(ControlPage.atSlice(peer));
      if (now == ControlPage.NEVER) {
        throw failure(Reason.PEER_FAILED, "rank " + peer + " failed to populate its slice");
      }
      if (now != before) {
        before = now;
        since = kernel.nanoTime();
      } else if (kernel.nanoTime() - since >= patience) {
        throw failure(
            Reason.TIMEOUT,
            "rank "
                + peer
                + ", process "
                + page.get(ControlPage.atProcess(peer))
                + ", populated nothing of its slice for "
                + Duration.ofNanos(patience)
                + " and may be dead");
      }
      kernel.pause(PAUSE_NANOS);
    }
  }

  private SharingException failure(Reason reason, String what) {
    return new SharingException(reason, request.name(), request.ranks(), request.ranks(), what);
  }

  @Override
  public void end(RuntimeException reason) {
    end = reason;
    mine.end(reason);
  }
}
