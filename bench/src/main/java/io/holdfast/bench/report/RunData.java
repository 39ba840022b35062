package io.holdfast.bench.report;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.bench.run.RunFolder;
import io.holdfast.bench.tool.Console;
import io.holdfast.bench.tool.RefusedException;
import io.holdfast.conformance.run.FileTrouble;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * What one run left.
 *
 * @param name of its folder, which tells runs apart
 * @param run what ran
 * @param machine facts
 * @param jmh JMH's results
 * @param experiments what experiments wrote
 */
record RunData(
    String name, JsonNode run, JsonNode machine, List<JsonNode> jmh, List<JsonNode> experiments) {
  /** Keeps copies. */
  RunData {
    jmh = List.copyOf(jmh);
    experiments = List.copyOf(experiments);
  }

  /** Reads a folder, or a zip of one. */
  static RunData read(Path path) {
    String name = String.valueOf(path.toAbsolutePath().normalize().getFileName());
    try {
      if (Files.isDirectory(path)) {
        return of(name, path);
      }
      if (name.endsWith(".zip") && Files.isRegularFile(path)) {
        try (FileSystem zip = FileSystems.newFileSystem(path)) {
          return of(name.substring(0, name.length() - 4), zip.getPath("/"));
        }
      }
    } catch (IOException failure) {
      throw new RefusedException(path + " cannot be read as a run: " + FileTrouble.reason(failure));
    }
    if (!Files.exists(path)) {
      throw new RefusedException("there is no " + path);
    }
    throw new RefusedException(path + " is neither the folder of a run nor a zip of one");
  }

  private static RunData of(String name, Path folder) {
    if (!Files.exists(folder.resolve(RunFolder.RUN))) {
      throw new RefusedException(
          name + " has no " + RunFolder.RUN + ": it is not the folder of a run of holdfast bench");
    }
    List<JsonNode> jmh = new ArrayList<>();
    tree(folder.resolve(RunFolder.JMH)).ifPresent(all -> all.forEach(jmh::add));
    List<JsonNode> experiments = new ArrayList<>();
    Path lines = folder.resolve(RunFolder.EXPERIMENTS);
    if (Files.exists(lines)) {
      try {
        for (String line : Files.readAllLines(lines, StandardCharsets.UTF_8)) {
          experiments.add(Console.json().readTree(line));
        }
      } catch (IOException failure) {
        throw broken(lines, "line " + (experiments.size() + 1) + ": ", failure);
      }
    }
    return new RunData(
        name,
        tree(folder.resolve(RunFolder.RUN)).orElseThrow(),
        tree(folder.resolve(RunFolder.MACHINE)).orElseGet(() -> Console.json().createObjectNode()),
        jmh,
        experiments);
  }

  private static Optional<JsonNode> tree(Path file) {
    try {
      return Files.exists(file)
          ? Optional.of(Console.json().readTree(Files.readString(file, StandardCharsets.UTF_8)))
          : Optional.empty();
    } catch (IOException failure) {
      throw broken(file, "", failure);
    }
  }

  private static RefusedException broken(Path file, String where, IOException failure) {
    return new RefusedException(file + " cannot be read: " + where + FileTrouble.reason(failure));
  }

  boolean simulated() {
    return run.path("target").path("simulated").asBoolean();
  }

  /** The first device, as its driver calls it. */
  String device() {
    return machine.path("backend").path("devices").path(0).path("name").asText("unknown device");
  }

  /** Results of one benchmark class. */
  List<JsonNode> jmh(String simpleName) {
    return jmh.stream()
        .filter(result -> result.path("benchmark").asText().contains("." + simpleName + "."))
        .toList();
  }

  /** Lines of experiments about one thing. */
  List<JsonNode> experiments(String what) {
    return experiments.stream().filter(line -> line.path("what").asText().equals(what)).toList();
  }

  /** What the link of the measured device can carry one way, in GB/s, where sysfs says so. */
  Optional<Double> linkGigabytesPerSecond() {
    String wanted = machine.path("backend").path("devices").path(0).path("pci").asText("");
    for (JsonNode accelerator : machine.path("accelerators")) {
      if (!simulated() && accelerator.path("pci").asText().equalsIgnoreCase(wanted)) {
        double carried = accelerator.path("currentLink").path("gigabytesPerSecond").asDouble(0);
        return carried > 0 ? Optional.of(carried) : Optional.empty();
      }
    }
    return Optional.empty();
  }
}
