package io.holdfast.site;

import java.util.List;

/** The documents are not fit to be shown; each line of the message is one thing to mend. */
final class SiteException extends RuntimeException {
  private static final long serialVersionUID = 1;

  SiteException(List<String> faults) {
    super(String.join("\n", faults));
  }

  SiteException(String fault) {
    this(List.of(fault));
  }
}
