package io.holdfast.bench.run;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.bench.experiment.Experiments;
import io.holdfast.bench.tool.ChildJvm;
import io.holdfast.bench.tool.Console;
import io.holdfast.bench.tool.RefusedException;
import java.io.BufferedReader;
import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/** Runs one experiment in a process of its own and keeps the lines of JSON that it writes. */
public final class ExperimentRunner {
  private static final double PATIENCE_SECONDS = 300;
  private static final double PATIENCE_TIMES = 5; // of what it should take

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
   * @throws RefusedException when it failed
   */
  public List<ObjectNode> run(Item.Experiment item) {
    List<String> arguments = new ArrayList<>(item.arguments());
    arguments.addAll(List.of("--backend", backend));
    List<String> command = ChildJvm.command(moreFlags, Experiments.class, arguments);
    List<ObjectNode> lines = new ArrayList<>();
    String last = "";
    try {
      Process process =
          new ProcessBuilder(command).redirectError(Redirect.appendTo(log.toFile())).start();
      process.getOutputStream().close();
      double patience = PATIENCE_SECONDS + PATIENCE_TIMES * item.seconds();
      AtomicBoolean late = new AtomicBoolean();
      CompletableFuture.delayedExecutor((long) patience, TimeUnit.SECONDS)
          .execute(() -> end(process, late));
      try (BufferedReader answers = process.inputReader(StandardCharsets.UTF_8)) {
        for (String line = answers.readLine(); line != null; line = answers.readLine()) {
          last = line;
          lines.add((ObjectNode) Console.json().readTree(line));
        }
      }
      int code = process.waitFor();
      if (late.get()) {
        throw new RefusedException("it took longer than " + (long) patience + " s and was ended");
      }
      boolean unmet =
          lines.stream().anyMatch(line -> line.has("met") && !line.path("met").asBoolean());
      if (lines.isEmpty() || (code != 0 && !unmet)) { // a claim that is not met is a result
        throw new RefusedException(
            "it ended with " + code + " after " + lines.size() + " results; see the log");
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

  private static void end(Process process, AtomicBoolean late) {
    if (process.isAlive()) {
      late.set(true);
      process.descendants().forEach(ProcessHandle::destroyForcibly);
      process.destroyForcibly();
    }
  }
}
