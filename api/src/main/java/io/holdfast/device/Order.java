package io.holdfast.device;

import java.util.ArrayList;
import java.util.List;

/**
 * When a copy may start, and who may touch the blocks afterwards.
 *
 * <p>A store takes any order; a load takes only a {@link TwoSided} one. Orders are values: made
 * once, used for every submission; "now" is the moment of submission. Applying one allocates
 * nothing.
 */
public abstract sealed class Order {
  private final List<DeviceStream> streams;
  private final List<DevicePoint> points;

  private Order(List<DeviceStream> streams, List<DevicePoint> points) {
    this.streams = List.copyOf(streams);
    this.points = List.copyOf(points);
  }

  /**
   * After everything that is on the stream at submission.
   *
   * @param stream whose work comes first
   * @return the order
   */
  public static After after(DeviceStream stream) {
    return new After(List.of(stream), List.of());
  }

  /**
   * After the point.
   *
   * @param point an event or a completion
   * @return the order
   */
  public static After after(DevicePoint point) {
    return new After(List.of(), List.of(point));
  }

  /**
   * As if enqueued on that stream: after what is on it, before what comes to it.
   *
   * @param stream an engine's stream
   * @return the order
   */
  public static TwoSided asIfOn(DeviceStream stream) {
    return new TwoSided(List.of(stream), List.of(), List.of(stream));
  }

  /**
   * No device work touches these blocks until done: the caller's word, nothing waits.
   *
   * @return the order that is none
   */
  public static TwoSided unordered() {
    return TwoSided.NONE;
  }

  /**
   * For copy engines: the stream waits for all that must come first.
   *
   * @param copies the stream that the copies will run on
   */
  public final void hold(DeviceStream copies) {
    for (int i = 0; i < streams.size(); i++) { // by index: an iterator would be garbage
      copies.waitFor(streams.get(i));
    }
    for (int i = 0; i < points.size(); i++) {
      copies.waitFor(points.get(i));
    }
  }

  /** Says what comes first; says nothing of who comes next. */
  public static final class After extends Order {
    private After(List<DeviceStream> streams, List<DevicePoint> points) {
      super(streams, points);
    }

    /**
     * And after that.
     *
     * @param point one more point
     * @return a longer order
     */
    public After and(DevicePoint point) {
      return new After(((Order) this).streams, append(((Order) this).points, point));
    }

    /**
     * And after everything on that stream.
     *
     * @param stream one more stream
     * @return a longer order
     */
    public After and(DeviceStream stream) {
      return new After(append(((Order) this).streams, stream), ((Order) this).points);
    }

    /**
     * And later work on that stream waits for the copy.
     *
     * @param consumer who uses the blocks next
     * @return an order with both sides named
     */
    public TwoSided before(DeviceStream consumer) {
      return new TwoSided(((Order) this).streams, ((Order) this).points, List.of(consumer));
    }

    /**
     * And the caller keeps its work off the blocks until the completion is done.
     *
     * @return an order with both sides named
     */
    public TwoSided untilDone() {
      return new TwoSided(((Order) this).streams, ((Order) this).points, List.of());
    }
  }

  /** Both sides are named. */
  public static final class TwoSided extends Order {
    private static final TwoSided NONE = new TwoSided(List.of(), List.of(), List.of());

    private final List<DeviceStream> consumers;

    private TwoSided(
        List<DeviceStream> streams, List<DevicePoint> points, List<DeviceStream> consumers) {
      super(streams, points);
      this.consumers = List.copyOf(consumers);
    }

    /**
     * And later work on that stream waits for the copy, too.
     *
     * @param consumer one more stream that uses the blocks next
     * @return a longer order
     */
    public TwoSided and(DeviceStream consumer) {
      return new TwoSided(
          ((Order) this).streams, ((Order) this).points, append(consumers, consumer));
    }

    /**
     * For copy engines: the consumers wait for the copy.
     *
     * @param copied the point behind the copy
     */
    public void release(DevicePoint copied) {
      for (int i = 0; i < consumers.size(); i++) {
        consumers.get(i).waitFor(copied);
      }
    }
  }

  private static <T> List<T> append(List<T> list, T more) {
    List<T> longer = new ArrayList<>(list);
    longer.add(more);
    return longer;
  }
}
