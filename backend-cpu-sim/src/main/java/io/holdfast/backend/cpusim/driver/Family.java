package io.holdfast.backend.cpusim.driver;

/** Whose driver is played. */
public enum Family {
  /** The CUDA driver API: explicit initialisation, a context per thread, no last error. */
  CUDA,
  /** The HIP runtime: implicit initialisation, a device per thread, a last error per thread. */
  HIP
}
