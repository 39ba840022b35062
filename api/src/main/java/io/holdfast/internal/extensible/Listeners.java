package io.holdfast.internal.extensible;

import io.holdfast.device.RegionChange;
import io.holdfast.device.Subscription;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;

/** Who wants to be told before pages change. Any thread. */
final class Listeners {
  private final List<Told> told = new CopyOnWriteArrayList<>();

  Subscription add(Consumer<RegionChange> listener) {
    Told one = new Told(this, listener);
    told.add(one);
    return one;
  }

  /** Tells all in the order they subscribed; what one throws ends it. */
  void tell(RegionChange change) {
    for (Told one : told) {
      one.tell(change);
    }
  }

  private static final class Told implements Subscription {
    private final Listeners listeners;
    private final Consumer<RegionChange> listener;
    private final ReentrantLock calling = new ReentrantLock();
    private boolean ended;

    Told(Listeners listeners, Consumer<RegionChange> listener) {
      this.listeners = listeners;
      this.listener = listener;
    }

    void tell(RegionChange change) {
      calling.lock();
      try {
        if (!ended) {
          listener.accept(change);
        }
      } finally {
        calling.unlock();
      }
    }

    @Override
    public void close() {
      calling.lock(); // a call that runs on another thread ends first
      try {
        ended = true;
      } finally {
        calling.unlock();
      }
      listeners.told.remove(this);
    }
  }
}
