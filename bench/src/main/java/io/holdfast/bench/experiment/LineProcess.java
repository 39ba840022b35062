package io.holdfast.bench.experiment;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.bench.tool.Console;
import io.holdfast.bench.tool.RefusedException;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * A program that answers each command line with one line of JSON. Not for several threads at once.
 */
final class LineProcess implements AutoCloseable {
  private final String name;
  private final Process process;
  private final BufferedWriter commands;
  private final BufferedReader answers;

  LineProcess(String name, List<String> command) {
    this.name = name;
    try {
      process = new ProcessBuilder(command).redirectError(Redirect.INHERIT).start();
    } catch (IOException failure) {
      throw new UncheckedIOException("cannot start " + name + ": " + command, failure);
    }
    commands = process.outputWriter(StandardCharsets.UTF_8);
    answers = process.inputReader(StandardCharsets.UTF_8);
  }

  /** Sends a command and does not wait. */
  void write(String command) {
    try {
      commands.write(command);
      commands.newLine();
      commands.flush();
    } catch (IOException failure) {
      throw new UncheckedIOException(name + " takes no command '" + command + "'", failure);
    }
  }

  /** Waits for the next answer. */
  JsonNode read() {
    try {
      String answer = answers.readLine();
      if (answer == null) {
        throw new RefusedException(name + " ended without an answer");
      }
      return Console.json().readTree(answer);
    } catch (IOException failure) {
      throw new UncheckedIOException(name + " does not answer", failure);
    }
  }

  /** The answer, which may hold an {@code error}. */
  JsonNode tryAsk(String command) {
    write(command);
    return read();
  }

  /** The answer of a command that must work. */
  JsonNode ask(String command) {
    JsonNode answer = tryAsk(command);
    if (answer.has("error")) {
      throw new RefusedException(
          name + " refused '" + command + "': " + answer.path("error").asText());
    }
    return answer;
  }

  @Override
  public void close() {
    try (commands) {
      commands.write("quit");
      commands.newLine();
    } catch (IOException _) { // it is gone already
    }
    try {
      if (!process.waitFor(20, TimeUnit.SECONDS)) {
        process.destroyForcibly();
      }
    } catch (InterruptedException _) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
  }
}
