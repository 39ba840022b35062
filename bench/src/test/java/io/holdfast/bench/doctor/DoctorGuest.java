package io.holdfast.bench.doctor;

import io.holdfast.bench.Holdfast;
import io.holdfast.bench.tool.Console;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.StreamSupport;

/**
 * What DoctorInTwoNodesTest runs inside the machine of two nodes: a doctor before and one after its
 * own remedy was typed. Leaves what each said in the folder that is the argument.
 */
final class DoctorGuest {
  private static final String POOL =
      "/sys/devices/system/node/node%d/hugepages/hugepages-2048kB/nr_hugepages";

  private final Path folder;

  private DoctorGuest(Path folder) {
    this.folder = folder;
  }

  public static void main(String[] arguments) throws IOException, InterruptedException {
    DoctorGuest guest = new DoctorGuest(Path.of(arguments[0]));
    Files.writeString(Path.of(POOL.formatted(0)), "40");
    Files.writeString(Path.of(POOL.formatted(1)), "20");
    String before = guest.doctor("before", "--numa=bind:1");
    guest.doctor("other", "--numa=bind:0");
    guest.type(before);
    guest.doctor("after", "--numa=bind:1");
  }

  private String doctor(String name, String numa) throws IOException {
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    int code =
        Holdfast.run(
            new String[] {
              "doctor",
              "--backend=cpu-sim",
              "--bytes-per-rank=80MiB",
              "--pages=2MB",
              numa,
              "--no-measure",
              "--json"
            },
            new PrintWriter(out),
            new PrintWriter(err));
    Files.writeString(folder.resolve(name + ".json"), out.toString());
    Files.writeString(folder.resolve(name + ".code"), code + "\n" + err);
    return out.toString();
  }

  /** Types the first command of the report that names node 1, as an operator would. */
  private void type(String report) throws IOException, InterruptedException {
    List<String> commands = new ArrayList<>();
    StreamSupport.stream(Console.json().readTree(report).path("remedies").spliterator(), false)
        .filter(remedy -> remedy.path("kind").asText().equals("command"))
        .map(remedy -> remedy.path("text").asText())
        .filter(text -> text.contains("/node1/"))
        .forEach(commands::add);
    String command = commands.isEmpty() ? "echo no command" : commands.getFirst();
    Process shell =
        new ProcessBuilder("/bin/sh", "-c", command)
            .redirectErrorStream(true)
            .redirectOutput(folder.resolve("typed").toFile())
            .start();
    Files.writeString(folder.resolve("typed.code"), command + "\n" + shell.waitFor());
  }
}
