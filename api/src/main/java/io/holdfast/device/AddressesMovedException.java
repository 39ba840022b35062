package io.holdfast.device;

import io.holdfast.error.Category;
import io.holdfast.error.HoldfastException;
import java.io.Serial;
import java.util.Locale;

/**
 * A driver that returns memory only with its addresses did not give the same addresses again. The
 * region sleeps without them; waking it asks for them once more.
 */
public final class AddressesMovedException extends HoldfastException {
  @Serial private static final long serialVersionUID = 1L;

  /** What was given up and asked for. */
  private final long wantedAddress;

  /** What the driver gave. */
  private final long givenAddress;

  /**
   * Both addresses.
   *
   * @param bytes how many were asked for
   * @param wantedAddress what was given up and asked for
   * @param givenAddress what the driver gave instead, returned to it since; 0 for nothing
   */
  public AddressesMovedException(long bytes, long wantedAddress, long givenAddress) {
    super(
        Category.DISAGREEMENT,
        "reserving the same addresses again",
        String.format(
            Locale.ROOT,
            "%d bytes of addresses at 0x%x were given up to return memory, and the driver gave %s",
            bytes,
            wantedAddress,
            givenAddress == 0
                ? "nothing"
                : String.format(Locale.ROOT, "0x%x instead", givenAddress)),
        "Wake the region later, or close it: graphs and pointers into it are void until it wakes",
        null);
    this.wantedAddress = wantedAddress;
    this.givenAddress = givenAddress;
  }

  /**
   * What was given up and asked for.
   *
   * @return the address
   */
  public long wantedAddress() {
    return wantedAddress;
  }

  /**
   * What the driver gave.
   *
   * @return the address, returned to the driver since; 0 for nothing
   */
  public long givenAddress() {
    return givenAddress;
  }
}
