package io.holdfast.bench.run;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.bench.tool.Console;
import io.holdfast.bench.tool.RefusedException;
import io.holdfast.conformance.run.FileTrouble;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;

/**
 * The folder of a run. Each file is replaced as a whole, so that a run that is cut short leaves
 * what was done. Not for several threads or processes at once.
 */
public final class RunFolder {
  /** What ran, and what became of each item. */
  public static final String RUN = "run.json";

  /** What the machine is. */
  public static final String MACHINE = "machine.json";

  /** JMH's results, in JMH's own form. */
  public static final String JMH = "jmh.json";

  /** What the experiments wrote, one JSON object a line. */
  public static final String EXPERIMENTS = "experiments.jsonl";

  /** What JMH and the benchmarks said; not needed to read the figures. */
  public static final String LOG = "log.txt";

  private final Path folder;

  /**
   * A folder, made when it is not there.
   *
   * @param folder of one run
   */
  public RunFolder(Path folder) {
    this.folder = folder.toAbsolutePath().normalize();
    try {
      Files.createDirectories(folder);
    } catch (IOException failure) {
      throw new RefusedException(
          "the folder " + folder + " cannot be made: " + FileTrouble.reason(failure));
    }
  }

  /**
   * A file inside.
   *
   * @param name of the file
   * @return where it is
   */
  public Path file(String name) {
    return folder.resolve(name);
  }

  /**
   * What ran so far.
   *
   * @return the content of {@value #RUN}; empty when nothing ran here
   */
  public Optional<ObjectNode> run() {
    return readTree(RUN).map(ObjectNode.class::cast);
  }

  /**
   * Puts down a file.
   *
   * @param name of the file
   * @param content whole
   */
  public void write(String name, JsonNode content) {
    try {
      replace(name, Console.json().writeValueAsString(content) + "\n");
    } catch (IOException failure) {
      throw unwritable(name, failure);
    }
  }

  /**
   * JMH's results so far.
   *
   * @return empty in the beginning
   */
  public ArrayNode jmh() {
    return readTree(JMH)
        .map(ArrayNode.class::cast)
        .orElseGet(() -> Console.json().createArrayNode());
  }

  /**
   * Keeps what an experiment wrote instead of what it wrote before.
   *
   * @param id of the item
   * @param lines JSON objects
   */
  public void experiment(String id, List<ObjectNode> lines) {
    StringBuilder all = new StringBuilder();
    try {
      for (JsonNode old : experiments()) {
        if (!old.path("item").asText().equals(id)) {
          all.append(old).append('\n');
        }
      }
      for (ObjectNode line : lines) {
        all.append(line.put("item", id)).append('\n');
      }
      replace(EXPERIMENTS, all.toString());
    } catch (IOException failure) {
      throw unwritable(EXPERIMENTS, failure);
    }
  }

  /**
   * Packs what a report needs into one file beside the folder.
   *
   * @return the file
   */
  public Path pack() {
    Path zip = folder.resolveSibling(folder.getFileName() + ".zip");
    try (ZipOutputStream out = new ZipOutputStream(Files.newOutputStream(zip))) {
      for (String name : List.of(RUN, MACHINE, JMH, EXPERIMENTS)) {
        if (Files.exists(file(name))) {
          ZipEntry entry = new ZipEntry(name);
          entry.setTime(0); // the same content gives the same file
          out.putNextEntry(entry);
          Files.copy(file(name), out);
          out.closeEntry();
        }
      }
    } catch (IOException failure) {
      throw new RefusedException(zip + " cannot be written: " + FileTrouble.reason(failure));
    }
    return zip;
  }

  private List<JsonNode> experiments() throws IOException {
    List<JsonNode> found = new ArrayList<>();
    if (Files.exists(file(EXPERIMENTS))) {
      for (String line : Files.readAllLines(file(EXPERIMENTS), StandardCharsets.UTF_8)) {
        found.add(Console.json().readTree(line));
      }
    }
    return found;
  }

  private Optional<JsonNode> readTree(String name) {
    Path file = file(name);
    if (!Files.exists(file)) {
      return Optional.empty();
    }
    try {
      return Optional.of(Console.json().readTree(Files.readString(file, StandardCharsets.UTF_8)));
    } catch (IOException failure) {
      throw new RefusedException(
          file + " cannot be read: " + FileTrouble.reason(failure) + "; name another folder");
    }
  }

  private void replace(String name, String content) throws IOException {
    Path fresh = file(name + ".new");
    Files.writeString(fresh, content, StandardCharsets.UTF_8);
    Files.move(fresh, file(name), StandardCopyOption.REPLACE_EXISTING);
  }

  private RefusedException unwritable(String name, IOException failure) {
    return new RefusedException(file(name) + " cannot be written: " + FileTrouble.reason(failure));
  }
}
