package io.holdfast.bench.replay;

import io.holdfast.event.Activity;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** What must be known of a whole recording before its first event is done again. */
final class Plot {
  private final Map<Long, Long> largestRange = new HashMap<>();
  private final Set<Long> opened = new HashSet<>();
  private final Map<Long, Long> mostBlocks = new HashMap<>();
  private final Set<Long> exported = new HashSet<>();

  Plot(List<Told> events) {
    for (Told event : events) {
      if (event.failed()) {
        continue;
      }
      if (event.details() instanceof Told.Change change) {
        mostBlocks.merge(event.subject(), Math.max(1, change.blocks()), Math::max);
      }
      switch (event.activity()) {
        case MAP -> opened.add(event.subject());
        case REGISTER -> {
          opened.add(event.subject());
          largestRange.merge(event.subject(), event.tally().bytes(), Math::max);
        }
        case EXPORT -> exported.add(event.subject());
        default -> {}
      }
    }
  }

  /** Whether the recording has the beginning of that. */
  boolean opens(long subject) {
    return opened.contains(subject);
  }

  /** Whether handles of that memory were made. */
  boolean exports(long subject) {
    return exported.contains(subject);
  }

  /** How many blocks that memory had at most; one where no event says. */
  long mostBlocks(long subject) {
    return mostBlocks.getOrDefault(subject, 1L);
  }

  /** The largest range that was registered of those pins. */
  long largestRange(Told pins) {
    Long bytes = largestRange.get(pins.subject());
    if (bytes == null) {
      throw new IllegalArgumentException(Activity.REGISTER + " without a range");
    }
    return bytes;
  }
}
