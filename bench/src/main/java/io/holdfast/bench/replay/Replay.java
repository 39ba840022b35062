package io.holdfast.bench.replay;

import io.holdfast.Backends;
import io.holdfast.error.HoldfastException;
import io.holdfast.event.Activity;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/** A recording, done again. */
public final class Replay {
  private static final String SIMULATOR = "cpu-sim";
  private static final String OTHERWISE = "cpu-sim:h200"; // its memory is simulated too

  private final RecordedStory story;
  private final String backendId;

  private Replay(RecordedStory story, String backendId) {
    this.story = story;
    this.backendId = backendId;
  }

  /**
   * Reads a recording.
   *
   * @param file the recording
   * @param backend the simulated machine; empty: the recorded one if that was simulated
   * @return what can be replayed
   * @throws IllegalArgumentException says in one sentence why it cannot be
   * @throws io.holdfast.BackendUnavailableException there is no such backend
   */
  public static Replay of(Path file, Optional<String> backend) {
    String asked = backend.orElse(SIMULATOR);
    if (!isSimulated(asked)) {
      requireKnown(asked);
      throw new IllegalArgumentException(
          "a recording is replayed on a simulated machine, not on '" + asked + "'; see --backend");
    }
    RecordedStory story = RecordedStory.read(file);
    String recorded = story.events().getFirst().backend();
    return new Replay(story, backend.orElse(isSimulated(recorded) ? recorded : OTHERWISE));
  }

  /** What is no backend at all is refused as it is everywhere. */
  private static void requireKnown(String asked) {
    String id = asked.replaceFirst(":.*", "");
    if (Backends.discover().entries().stream().noneMatch(entry -> entry.id().equals(id))) {
      Backends.select(asked).close();
    }
  }

  private static boolean isSimulated(String backend) {
    return backend.equals(SIMULATOR) || backend.startsWith(SIMULATOR + ":");
  }

  /**
   * Does it all again.
   *
   * @return how it compares
   */
  public Comparison run() {
    Plot plot = new Plot(story.events());
    Outcome outcome = new Outcome();
    Map<String, Stage> stages = new HashMap<>();
    try {
      for (Told event : story.events()) {
        outcome.recorded(event);
        if (event.failed()) {
          outcome.leaveOut(event.activity(), "it failed when it was recorded");
          continue;
        }
        Stage stage =
            stages.computeIfAbsent(event.backend(), _ -> new Stage(backendId, plot, outcome));
        try {
          stage.play(event);
        } catch (HoldfastException | IllegalArgumentException | IllegalStateException refused) {
          outcome.refuse(event.activity(), String.valueOf(refused.getMessage()));
        }
        if (event.activity() == Activity.CLOSE && event.ground() == 0) {
          stages.remove(event.backend());
          stage.close();
          outcome.replayed(stage.statistics());
        }
      }
      stages.values().forEach(stage -> outcome.replayed(stage.statistics()));
    } finally {
      stages.values().forEach(Stage::close);
    }
    return new Comparison(backendId, story.events().size(), outcome);
  }
}
