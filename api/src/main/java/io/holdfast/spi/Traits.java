package io.holdfast.spi;

import java.util.List;
import java.util.Objects;
import java.util.Set;

/**
 * What one device's driver differs in; the core obeys without knowing a vendor's name.
 *
 * @param pinModel what registering does to pages
 * @param bounds known limits of one registration call, each with its reason; may be empty
 * @param maxRegisteredBytes most bytes of all registrations together; {@link Long#MAX_VALUE} where
 *     no limit is known
 * @param warnRegisteredAboveBytes total above which users are warned; {@link Long#MAX_VALUE} for
 *     never
 * @param alias whether device addresses of registered memory can differ from the host's
 * @param quirks what the driver needs beyond the plain protocol
 */
public record Traits(
    PinModel pinModel,
    List<RegistrationBound> bounds,
    long maxRegisteredBytes,
    long warnRegisteredAboveBytes,
    Alias alias,
    Set<Quirk> quirks) {

  /** Checks and copies. */
  public Traits {
    Objects.requireNonNull(pinModel, "pinModel");
    Objects.requireNonNull(alias, "alias");
    bounds = List.copyOf(bounds);
    quirks = Set.copyOf(quirks);
    if (maxRegisteredBytes <= 0 || warnRegisteredAboveBytes <= 0) {
      throw new IllegalArgumentException(
          "totals must be positive: "
              + maxRegisteredBytes
              + " bytes at most, warning above "
              + warnRegisteredAboveBytes);
    }
  }

  /**
   * A driver that pins hard, names no limit, shows the host's addresses and needs nothing special.
   *
   * @return the plainest traits
   */
  public static Traits plain() {
    return new Traits(
        PinModel.HARD, List.of(), Long.MAX_VALUE, Long.MAX_VALUE, Alias.SAME_ADDRESS, Set.of());
  }

  /**
   * A known limit of one registration call.
   *
   * @param id short name, by which users override it, for example {@code driver-580-512gib}
   * @param maxBytes most bytes of one call, positive
   * @param reason why, in one sentence
   */
  public record RegistrationBound(String id, long maxBytes, String reason) {
    /** Checks. */
    public RegistrationBound {
      if (maxBytes <= 0) {
        throw new IllegalArgumentException(id + ": a bound must be positive, not " + maxBytes);
      }
    }
  }

  /** What registering does to pages. */
  public enum PinModel {
    /** The pages are pinned and cannot move. */
    HARD,
    /** The driver follows the pages by notifier; they can move. */
    NOTIFIER,
    /** The device reads host page tables; registering does not pin, and pages can migrate. */
    COHERENT
  }

  /** How device addresses of registered host memory relate to the host's. */
  public enum Alias {
    /** Always equal. */
    SAME_ADDRESS,
    /** Ask for each range and each device. */
    PER_RANGE
  }

  /** What policy does only where a driver needs it. */
  public enum Quirk {
    /** One virtual-memory call at a time in the whole process. */
    ONE_VMM_CALL_AT_A_TIME,
    /** Each mapping is unmapped by a call of its own. */
    UNMAP_EACH_MAPPING,
    /** Physical memory is released only after it was unmapped. */
    RELEASE_AFTER_UNMAP,
    /** Access is allowed over the whole committed prefix each time. */
    ACCESS_WHOLE_PREFIX,
    /** Memory returns only when addresses are freed: free them and reserve them again. */
    RE_RESERVE_TO_RETURN
  }
}
