package io.holdfast.copy;

/** How a batch goes. */
public enum CopyPath {
  /** One driver call for each descriptor. */
  LOOP,
  /** One driver call for many. */
  BATCH,
  /** Cores of the device read and write the host. */
  KERNEL,
  /** One driver call for regular rows. */
  PITCHED
}
