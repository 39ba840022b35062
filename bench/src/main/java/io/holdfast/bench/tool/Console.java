package io.holdfast.bench.tool;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import java.io.PrintWriter;

/**
 * Where a subcommand writes: its result on standard output, everything else beside it.
 *
 * @param out results
 * @param err notes, progress, errors
 */
public record Console(PrintWriter out, PrintWriter err) {
  private static final ObjectMapper JSON =
      new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);

  /**
   * The mapper that reads and writes all JSON of the command.
   *
   * @return the mapper
   */
  public static ObjectMapper json() {
    return JSON;
  }

  /**
   * Writes one JSON value as the result.
   *
   * @param value the result
   */
  public void result(JsonNode value) {
    try {
      out.println(JSON.writeValueAsString(value));
    } catch (JsonProcessingException impossible) {
      throw new AssertionError("a tree of plain nodes can always be written", impossible);
    }
    out.flush();
  }

  /**
   * Writes a line beside the result.
   *
   * @param line one line
   */
  public void note(String line) {
    err.println(line);
    err.flush();
  }
}
