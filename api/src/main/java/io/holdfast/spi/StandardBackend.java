package io.holdfast.spi;

import io.holdfast.Availability;
import io.holdfast.Backend;
import io.holdfast.BackendKind;
import io.holdfast.copy.CopyEngine;
import io.holdfast.device.DeviceInfo;
import io.holdfast.host.PageSource;
import io.holdfast.internal.core.CoreBackend;
import io.holdfast.internal.core.Rooms;
import io.holdfast.pin.Pinner;
import java.util.List;
import java.util.Objects;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** All policy over two ports: the whole of a backend but its driver. */
public final class StandardBackend {
  private static final ScopedValue<Interposer> INTERPOSER = ScopedValue.newInstance();
  private static final Interposer NOTHING_BETWEEN = new Interposer() {};

  private StandardBackend() {}

  /**
   * Opens something while every backend that is built here, on the calling thread, gets the ports
   * that the interposer puts before its own. Kits and tests stand there: they record calls, or make
   * them fail. Where calls of this method lie in one another, the inner one is nearer the driver.
   *
   * @param <T> what is opened
   * @param between what stands between policy and ports
   * @param opening opens a backend, for example {@code () -> Backends.select("cuda")}
   * @return what was opened
   */
  public static <T> T interposing(Interposer between, Supplier<T> opening) {
    Objects.requireNonNull(between, "between");
    Interposer outer = INTERPOSER.orElse(NOTHING_BETWEEN);
    Interposer both =
        new Interposer() {
          @Override
          public AcceleratorDriver driver(AcceleratorDriver driver) {
            return outer.driver(between.driver(driver));
          }

          @Override
          public HostKernel kernel(HostKernel kernel) {
            return outer.kernel(between.kernel(kernel));
          }
        };
    return ScopedValue.where(INTERPOSER, both).call(opening::get);
  }

  /**
   * Available with the driver's devices, or unavailable because there are none.
   *
   * @param driver whose devices
   * @param remedyWithoutDevice what to do when there is none
   * @return the outcome of a probe
   */
  public static Availability availability(AcceleratorDriver driver, String remedyWithoutDevice) {
    List<DeviceInfo> devices = CoreBackend.infos(driver, HostKernels.system());
    return devices.isEmpty()
        ? Availability.Unavailable.because("the driver sees no device", remedyWithoutDevice)
        : new Availability.Available(driver.version(), devices);
  }

  /**
   * This machine's own kernel under a hardware driver, nothing replaced.
   *
   * @param id the backend's name
   * @param driver the accelerator port, closed with the backend
   * @return the backend
   */
  public static Backend over(String id, AcceleratorDriver driver) {
    return builder(id, driver).build();
  }

  /**
   * Begins a backend of parts.
   *
   * @param id the backend's name
   * @param driver the accelerator port, closed with the backend
   * @return the parts so far
   */
  public static Builder builder(String id, AcceleratorDriver driver) {
    return new Builder(id, driver);
  }

  /** The parts of a backend. Not for several threads at once. */
  public static final class Builder {
    private final String id;
    private final AcceleratorDriver driver;
    private BackendKind kind = BackendKind.HARDWARE;
    private @Nullable HostKernel kernel;
    private UnaryOperator<PageSource> pageSource = UnaryOperator.identity();
    private UnaryOperator<Pinner> pinner = UnaryOperator.identity();
    private UnaryOperator<CopyEngine> copyEngine = UnaryOperator.identity();

    private Builder(String id, AcceleratorDriver driver) {
      this.id = Objects.requireNonNull(id, "id");
      this.driver = Objects.requireNonNull(driver, "driver");
    }

    /**
     * Says what it drives; hardware by default.
     *
     * @param what hardware or simulator
     * @return this
     */
    public Builder kind(BackendKind what) {
      kind = Objects.requireNonNull(what, "kind");
      return this;
    }

    /**
     * A kernel of the backend's own, for example a simulated one; this machine's by default.
     *
     * @param own the host port
     * @return this
     */
    public Builder kernel(HostKernel own) {
      kernel = Objects.requireNonNull(own, "kernel");
      return this;
    }

    /**
     * Wraps or replaces the page source.
     *
     * @param change given the standard one
     * @return this
     */
    public Builder pageSource(UnaryOperator<PageSource> change) {
      pageSource = Objects.requireNonNull(change, "pageSource");
      return this;
    }

    /**
     * Wraps or replaces each device's pinner.
     *
     * @param change given the standard one
     * @return this
     */
    public Builder pinner(UnaryOperator<Pinner> change) {
      pinner = Objects.requireNonNull(change, "pinner");
      return this;
    }

    /**
     * Wraps or replaces each device's copy engine.
     *
     * @param change given the standard one
     * @return this
     */
    public Builder copyEngine(UnaryOperator<CopyEngine> change) {
      copyEngine = Objects.requireNonNull(change, "copyEngine");
      return this;
    }

    /**
     * Puts the parts together.
     *
     * @return the backend
     */
    public Backend build() {
      Interposer between = INTERPOSER.orElse(NOTHING_BETWEEN);
      return new CoreBackend(
          id,
          kind,
          between.driver(driver),
          between.kernel(kernel == null ? HostKernels.system() : kernel),
          new Rooms(pageSource, pinner, copyEngine));
    }
  }
}
