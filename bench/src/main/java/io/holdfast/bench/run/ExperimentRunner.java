package io.holdfast.bench.run;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.bench.experiment.Experiments;
import io.holdfast.bench.tool.Console;
import io.holdfast.bench.tool.RefusedException;
import java.io.BufferedReader;
import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Runs one experiment in a process of its own and keeps the lines of JSON that it writes. */
public final class ExperimentRunner {
  private final Path log;
  private final String backend;
  private final List<String> moreFlags;

  /**
   * A runner.
   *
   * @param log gets what experiments say beside their results
   * @param backend id
   * @param moreFlags for the JVM of each
   */
  public ExperimentRunner(Path log, String backend, List<String> moreFlags) {
    this.log = log;
    this.backend = backend;
    this.moreFlags = List.copyOf(moreFlags);
  }

  /**
   * Runs it, and waits.
   *
   * @param item what
   * @return what it wrote, claims that were not met among it
   * @throws RefusedException when it wrote nothing
   */
  public List<ObjectNode> run(Item.Experiment item) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
    command.addAll(moreFlags);
    command.add("-cp");
    command.add(System.getProperty("java.class.path"));
    command.add(Experiments.class.getName());
    command.addAll(item.arguments());
    command.addAll(List.of("--backend", backend));
    List<ObjectNode> lines = new ArrayList<>();
    String last = "";
    try {
      Process process =
          new ProcessBuilder(command).redirectError(Redirect.appendTo(log.toFile())).start();
      process.getOutputStream().close();
      try (BufferedReader answers = process.inputReader(StandardCharsets.UTF_8)) {
        for (String line = answers.readLine(); line != null; line = answers.readLine()) {
          last = line;
          lines.add((ObjectNode) Console.json().readTree(line));
        }
      }
      int code = process.waitFor();
      if (lines.isEmpty()) {
        throw new RefusedException("it ended with " + code + " and no result; see the log");
      }
      return lines;
    } catch (JsonProcessingException | ClassCastException wrong) {
      throw new RefusedException("it wrote what is no JSON object: " + last);
    } catch (IOException failure) {
      throw new RefusedException("it could not be run: " + failure.getMessage());
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
      throw new RefusedException("interrupted");
    }
  }
}
