package io.holdfast.backend.cpusim.driver;

/** Addresses without memory; guarded by the driver's lock. */
final class Reservation {
  final long address;
  final long bytes;

  /** Memory that was released and does not come back before the addresses do, by device. */
  final long[] keptBytes;

  /** Whether a driver's fault has made the addresses impossible to give back. */
  boolean broken;

  boolean alive = true;

  /** Whether memory was ever mapped here. */
  boolean used;

  Reservation(long address, long bytes, int devices) {
    this.address = address;
    this.bytes = bytes;
    this.keptBytes = new long[devices];
  }

  long end() {
    return address + bytes;
  }
}
