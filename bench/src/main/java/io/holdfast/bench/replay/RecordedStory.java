package io.holdfast.bench.replay;

import io.holdfast.copy.CopyPath;
import io.holdfast.event.Activity;
import io.holdfast.event.Statistics.Tally;
import java.io.IOException;
import java.io.Serial;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;

/**
 * Holdfast's events of one recording, in the order in which they began.
 *
 * @param events at least one
 */
record RecordedStory(List<Told> events) {
  private static final String PREFIX = "io.holdfast.";
  private static final String DIRECTION = "direction";
  private static final Map<String, Activity> BY_NAME = byName();

  private static Map<String, Activity> byName() {
    Map<String, Activity> all = new HashMap<>();
    for (Activity activity : Activity.values()) {
      all.put(activity.eventName(), activity); // of a batch either: its direction says which
    }
    return all;
  }

  /**
   * Reads a file.
   *
   * @param file a recording
   * @return what Holdfast did
   * @throws IllegalArgumentException says in one sentence why this cannot be replayed
   */
  static RecordedStory read(Path file) {
    if (!Files.isRegularFile(file)) {
      throw new IllegalArgumentException(file + " is no file");
    }
    List<Told> events = new ArrayList<>();
    try (RecordingFile recording = new RecordingFile(file)) {
      while (recording.hasMoreEvents()) {
        RecordedEvent event = recording.readEvent();
        if (event.getEventType().getName().startsWith(PREFIX)) {
          events.add(told(event));
        }
      }
    } catch (UnknownEventException unknown) {
      throw new IllegalArgumentException(
          file + " was recorded by another version of Holdfast: " + unknown.getMessage(), unknown);
    } catch (IOException | RuntimeException broken) {
      // The reader of recordings answers broken bytes with whatever it stumbles over.
      throw new IllegalArgumentException(
          file + " cannot be read as a recording of JDK Flight Recorder: " + broken.getMessage(),
          broken);
    }
    if (events.isEmpty()) {
      throw new IllegalArgumentException(
          file + " has no events of Holdfast: record while a backend is open, with jdk.jfr there");
    }
    events.sort(Comparator.comparing(Told::start));
    return new RecordedStory(List.copyOf(events));
  }

  private static Told told(RecordedEvent event) {
    String name = event.getEventType().getName();
    Activity known = BY_NAME.get(name);
    if (known == null) {
      throw new UnknownEventException("it has the event " + name);
    }
    try {
      boolean copy = event.hasField(DIRECTION);
      boolean failed = event.getString("failure") != null;
      return new Told(
          copy ? Activity.valueOf(text(event, DIRECTION)) : known,
          event.getStartTime(),
          text(event, "backend"),
          event.getInt("deviceOrdinal"),
          event.getLong("subject"),
          event.getLong("ground"),
          new Tally(1, failed ? 1 : 0, event.getLong("bytes"), event.getLong("took")),
          failed ? new Told.Nothing() : details(event, known));
    } catch (IllegalArgumentException missing) {
      throw new UnknownEventException(name + ": " + missing.getMessage());
    }
  }

  private static Told.Details details(RecordedEvent event, Activity activity) {
    return switch (activity) {
      case MAP ->
          new Told.Mapping(
              event.getLong("logicalBytes"), event.getLong("pageBytes"), text(event, "pages"));
      case REGISTER ->
          new Told.Range(
              event.getLong("start"), event.getLong("offset"), event.getLong("wholeBytes"));
      case STORE, LOAD ->
          new Told.Copy(
              new Told.Ends(
                  text(event, "shape"),
                  event.getLong("slots"),
                  text(event, "hostArrangement"),
                  event.getLong("deviceBlocks"),
                  text(event, "deviceArrangement")),
              CopyPath.valueOf(text(event, "path")),
              event.getLong("pairs"),
              event.getLong("rows"));
      case COMMIT, SEAL, CONSOLIDATE, EXPORT, SLEEP, WAKE ->
          new Told.Change(
              text(event, "shape"),
              event.getLong("capacity"),
              text(event, "arrangement"),
              text(event, "detail"),
              event.getLong("blocks"));
      case UNMAP,
          POPULATE,
          UNREGISTER,
          PAUSE,
          READY,
          QUARANTINE,
          RECOVER,
          CLOSE,
          FALLBACK,
          NATIVE_CALL ->
          new Told.Nothing();
    };
  }

  private static String text(RecordedEvent event, String field) {
    String text = event.getString(field);
    if (text == null) {
      throw new IllegalArgumentException("its field " + field + " is empty");
    }
    return text;
  }

  /** An event that this version does not know, or not so. */
  private static final class UnknownEventException extends RuntimeException {
    @Serial private static final long serialVersionUID = 1L;

    UnknownEventException(String message) {
      super(message);
    }
  }
}
