package io.holdfast.backend.cpusim.driver;

/**
 * Where things lie: every kind of device address has a range of its own, all of them beyond what a
 * process can map, so that the CPU faults on any of them and none can be taken for host memory.
 */
final class Addresses {
  /** Plain allocations; one window per device. */
  static final long DEVICE_BASE = 1L << 52;

  static final long DEVICE_WINDOW_BYTES = 1L << 44;
  static final int MAX_DEVICES = 256;

  /** Reserved ranges. */
  static final long VMM_BASE = 1L << 53;

  static final long VMM_END = VMM_BASE + (1L << 52);

  /** Registered host memory where the device's address differs; one window per device. */
  static final long ALIAS_BASE = 1L << 54;

  static final long ALIAS_WINDOW_BYTES = 1L << 46;

  /** No process has memory below. */
  static final long LOWEST_HOST = 1L << 16;

  private Addresses() {}

  static long deviceWindow(int device) {
    return DEVICE_BASE + device * DEVICE_WINDOW_BYTES;
  }

  static boolean isDevice(long address) {
    return address >= DEVICE_BASE && address < VMM_END;
  }

  static boolean isReserved(long address) {
    return address >= VMM_BASE && address < VMM_END;
  }

  static boolean isAlias(long address) {
    return address >= ALIAS_BASE && address < ALIAS_BASE + MAX_DEVICES * ALIAS_WINDOW_BYTES;
  }

  static int aliasDevice(long address) {
    return (int) ((address - ALIAS_BASE) / ALIAS_WINDOW_BYTES);
  }

  static long aliasOffset(long address) {
    return (address - ALIAS_BASE) % ALIAS_WINDOW_BYTES;
  }

  static long alias(int device, long offset) {
    return ALIAS_BASE + device * ALIAS_WINDOW_BYTES + offset;
  }
}
