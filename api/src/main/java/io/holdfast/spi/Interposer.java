package io.holdfast.spi;

/**
 * Stands between policy and the two ports of a backend, for those who must see or disturb what
 * policy asks of them. Used through {@link StandardBackend#interposing}.
 */
public interface Interposer {
  /**
   * Puts something before the accelerator port.
   *
   * @param driver the backend's own
   * @return what policy is given instead; by default the same
   */
  default AcceleratorDriver driver(AcceleratorDriver driver) {
    return driver;
  }

  /**
   * Puts something before the host port.
   *
   * @param kernel the backend's own
   * @return what policy is given instead; by default the same
   */
  default HostKernel kernel(HostKernel kernel) {
    return kernel;
  }
}
