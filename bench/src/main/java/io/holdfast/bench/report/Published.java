package io.holdfast.bench.report;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.bench.tool.Console;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;

/** Figures of others from other machines: never a ceiling, only something to know. */
final class Published {
  private static final String RESOURCE = "published.json";

  private Published() {}

  static Table table() {
    List<List<String>> rows = new ArrayList<>();
    try (InputStream content = Published.class.getResourceAsStream(RESOURCE)) {
      if (content == null) {
        throw new IOException("the jar has no " + RESOURCE);
      }
      for (JsonNode one : Console.json().readTree(content)) {
        rows.add(
            List.of(
                one.path("what").asText(),
                one.path("machine").asText(),
                one.path("figure").asText(),
                one.path("source").asText()));
      }
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
    return new Table(
        "Published, other machines",
        "Other people's figures, as they published them. They were not measured here, and say"
            + " nothing of this machine.",
        List.of("what", "machine", "figure", "source"),
        rows);
  }
}
