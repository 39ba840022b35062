package io.holdfast;

import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * What discovery saw.
 *
 * @param entries every provider and every broken registration, in the order seen
 * @param chosen the id selected, where one was, and why
 */
public record Transcript(List<Entry> entries, Optional<Choice> chosen) {
  /** Checks and copies. */
  public Transcript {
    entries = List.copyOf(entries);
    Objects.requireNonNull(chosen, "chosen");
  }

  /**
   * One provider, or one registration that could not be read.
   *
   * @param id the backend's id, or a name for what is broken
   * @param kind what kind it is; empty for a broken registration
   * @param artifact jar, folder or module it came from
   * @param attempts what was tried, in order
   * @param availability the outcome
   */
  public record Entry(
      String id,
      Optional<BackendKind> kind,
      String artifact,
      List<Attempt> attempts,
      Availability availability) {
    /** Checks and copies. */
    public Entry {
      Objects.requireNonNull(id, "id");
      Objects.requireNonNull(kind, "kind");
      Objects.requireNonNull(artifact, "artifact");
      Objects.requireNonNull(availability, "availability");
      attempts = List.copyOf(attempts);
    }
  }

  /**
   * One thing tried.
   *
   * @param what a library name, a symbol, a device node
   * @param outcome what came of it
   */
  public record Attempt(String what, String outcome) {}

  /**
   * A selection.
   *
   * @param id chosen
   * @param because the rule that chose it
   */
  public record Choice(String id, String because) {}

  /**
   * The transcript for people, one paragraph for each entry.
   *
   * @return several lines, each ended by a line feed
   */
  public String describe() {
    StringBuilder text = new StringBuilder();
    for (Entry entry : entries) {
      text.append(entry.id());
      entry
          .kind()
          .ifPresent(kind -> text.append(kind == BackendKind.SIMULATOR ? " (simulated)" : ""));
      text.append(" from ").append(entry.artifact()).append('\n');
      for (Attempt attempt : entry.attempts()) {
        text.append("    tried ").append(attempt.what()).append(": ");
        text.append(attempt.outcome()).append('\n');
      }
      switch (entry.availability()) {
        case Availability.Available available -> {
          text.append("    usable: ").append(available.version()).append('\n');
          available
              .devices()
              .forEach(
                  device ->
                      text.append("    device ")
                          .append(device.ordinal())
                          .append(": ")
                          .append(device.name())
                          .append('\n'));
        }
        case Availability.Unavailable no -> {
          text.append("    not usable: ").append(no.reason()).append('\n');
          if (!no.remedy().isEmpty()) {
            text.append("    remedy: ").append(no.remedy()).append('\n');
          }
        }
      }
    }
    if (entries.isEmpty()) {
      text.append("no backend found on the class path or module path\n");
    }
    chosen.ifPresent(
        choice ->
            text.append("chosen: ")
                .append(choice.id())
                .append(", ")
                .append(choice.because())
                .append('\n'));
    return text.toString();
  }
}
