package io.holdfast.spi;

/** To whom a stream belongs. */
public enum StreamOrigin {
  /** To this device's own context. */
  OWN_CONTEXT,
  /** To another context of the same device; events are recorded on it in that context. */
  FOREIGN_CONTEXT,
  /** To another device. */
  OTHER_DEVICE,
  /** It is one of the driver's default streams, which mean whatever is current. */
  DEFAULT_STREAM
}
