package io.holdfast.error;

import java.io.Serial;

/** The capability is absent on this backend, device or kernel. */
public final class UnsupportedException extends HoldfastException {
  @Serial private static final long serialVersionUID = 1L;

  /** What is absent. */
  private final String capability;

  /**
   * Names the capability, why it is absent, and what would bring it.
   *
   * @param capability what is absent
   * @param reason why, in one sentence without a full stop
   * @param remedy what would bring it; may be empty
   */
  public UnsupportedException(String capability, String reason, String remedy) {
    super(
        Category.UNSUPPORTED,
        capability,
        capability + (isPlural(capability) ? " are" : " is") + " not supported here: " + reason,
        remedy,
        null);
    this.capability = capability;
  }

  /** Pages and files, but not the mapping, sharing or populating of them. */
  private static boolean isPlural(String capability) {
    return capability.matches("files in .*|(?!\\w+ing ).*pages( in .*)?");
  }

  /**
   * What is absent.
   *
   * @return the capability's name
   */
  public String capability() {
    return capability;
  }
}
