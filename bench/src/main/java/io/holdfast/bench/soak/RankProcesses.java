package io.holdfast.bench.soak;

import com.fasterxml.jackson.core.JsonParseException;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.bench.tool.ChildJvm;
import io.holdfast.bench.tool.Console;
import io.holdfast.bench.tool.RefusedException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** Several ranks as processes of their own, started at once. */
public final class RankProcesses implements AutoCloseable {
  private final List<Process> processes = new ArrayList<>();
  private final List<CompletableFuture<String>> outputs = new ArrayList<>();
  private volatile boolean stopped;

  /**
   * Starts them.
   *
   * @param ranks how many
   * @param mainClass what each runs
   * @param arguments for each, without its rank
   */
  public RankProcesses(int ranks, Class<?> mainClass, List<String> arguments) {
    try {
      for (int rank = 0; rank < ranks; rank++) {
        List<String> all = new ArrayList<>(arguments);
        all.add("--rank=" + rank);
        List<String> command = ChildJvm.command(List.of(), mainClass, all);
        Process process = new ProcessBuilder(command).redirectError(Redirect.INHERIT).start();
        processes.add(process);
        outputs.add(CompletableFuture.supplyAsync(() -> read(process)));
      }
    } catch (IOException failure) {
      close();
      throw new UncheckedIOException("cannot start a rank", failure);
    }
  }

  private static String read(Process process) {
    try {
      return new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException failure) {
      throw new UncheckedIOException("cannot read a rank's result", failure);
    }
  }

  /** Asks all of them to end early and cleanly. */
  public void stop() {
    stopped = true;
    // By handle: destroying the process itself would close the stream that its result comes
    // through.
    processes.forEach(process -> process.toHandle().destroy());
  }

  /**
   * Waits for all.
   *
   * @return what each found
   * @throws RefusedException names the ranks that ended without a result
   */
  public List<SoakResult> await() {
    List<SoakResult> results = new ArrayList<>();
    List<String> failed = new ArrayList<>();
    for (int rank = 0; rank < processes.size(); rank++) {
      String output = outputs.get(rank).join();
      int code = processes.get(rank).onExit().join().exitValue();
      try {
        results.add(SoakResult.fromJson(required(output)));
      } catch (JsonProcessingException _) {
        failed.add("rank " + rank + (stopped ? "" : " with code " + code));
      }
    }
    if (!failed.isEmpty()) {
      throw new RefusedException(
          (stopped ? "stopped before there was a result: " : "ended without a result: ")
              + String.join(", ", failed)
              + (stopped ? "" : "; see their messages above"));
    }
    return results;
  }

  private static JsonNode required(String output) throws JsonProcessingException {
    JsonNode node = Console.json().readTree(output);
    if (node == null || !node.has("ranks")) {
      throw new JsonParseException(null, "no result");
    }
    return node.path("ranks").path(0);
  }

  @Override
  public void close() {
    processes.forEach(Process::destroyForcibly);
  }
}
