package io.holdfast.bench;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.Backend;
import io.holdfast.Backends;
import io.holdfast.Selection;
import io.holdfast.bench.BackendsCommand.TranscriptJson;
import io.holdfast.bench.doctor.Comparison;
import io.holdfast.bench.doctor.CopiedHost;
import io.holdfast.bench.doctor.Diagnosis;
import io.holdfast.bench.doctor.Diagnosis.Measure;
import io.holdfast.bench.doctor.Need;
import io.holdfast.bench.doctor.Redaction;
import io.holdfast.bench.doctor.TextReport;
import io.holdfast.bench.tool.BackendOption;
import io.holdfast.bench.tool.ByteCount;
import io.holdfast.bench.tool.Console;
import io.holdfast.bench.tool.ExitCode;
import io.holdfast.bench.tool.RefusedException;
import io.holdfast.conformance.run.FileTrouble;
import io.holdfast.host.PageKind;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Judges a host. */
@Command(
    name = "doctor",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Shows what this host can give; with --bytes-per-rank, whether it suffices and what to"
          + " change.",
      "Exits with 0 when it suffices or nothing was asked, with 3 when it does not."
    })
final class DoctorCommand implements Callable<Integer> {
  @Spec private CommandSpec spec = CommandSpec.create(); // replaced by picocli

  @Option(
      names = "--bytes-per-rank",
      paramLabel = "BYTES",
      description = "Host memory of one process.")
  private @Nullable ByteCount bytesPerRank;

  @Option(names = "--ranks", description = "Processes, one for each device in turn; default 1.")
  private @Nullable Integer ranks;

  @Option(
      names = "--pages",
      paramLabel = "KIND",
      description = "base, thp, 2MB, 1GB or any size the kernel has; default base.")
  private @Nullable PageKind pages;

  @Option(
      names = "--directory",
      paramLabel = "DIR",
      description = "Pages of a hugetlbfs or tmpfs directory instead.")
  private @Nullable Path directory;

  @Option(
      names = "--numa",
      paramLabel = "POLICY",
      description = "As for soak; nearest puts each rank beside its device; default inherit.")
  private NumaOption.@Nullable Choice numa;

  @Option(
      names = "--backend",
      paramLabel = "ID",
      converter = BackendOption.class,
      description =
          "Backend; default: hardware if any is usable, else the simulator over this host's"
              + " memory.")
  private @Nullable String backend;

  @Option(
      names = "--root",
      paramLabel = "DIR",
      description = "A copy of another host's /proc and /sys, instead of this host.")
  private @Nullable Path root;

  @Option(names = "--no-measure", description = "Touches no memory; tells no speeds.")
  private boolean noMeasure;

  @Option(names = "--json", description = "One JSON object on standard output.")
  private boolean json;

  @Option(
      names = "--bundle",
      paramLabel = "FILE",
      description = "Also writes a JSON file for a bug report, without paths, names and numbers.")
  private @Nullable Path bundle;

  @Option(
      names = "--compare",
      paramLabel = "FILE",
      arity = "2",
      description =
          "Compares two files that --json wrote, and does nothing else; 1 if they differ.")
  private @Nullable List<Path> compare;

  @Override
  public Integer call() {
    Console console = new Console(spec.commandLine().getOut(), spec.commandLine().getErr());
    if (compare != null) {
      return compare(console, compare);
    }
    Optional<Need> need = need();
    boolean copied = root != null;
    try (Backend opened = open()) {
      Diagnosis found = Diagnosis.of(opened, need, noMeasure || copied ? Measure.NO : Measure.YES);
      if (json) {
        console.result(found.toJson());
      } else {
        console.out().print(TextReport.of(found));
        console.out().flush();
      }
      if (bundle != null) {
        write(bundle, found);
        console.note("written to " + bundle + "; read it before you show it");
      }
      return found.isFeasible() ? ExitCode.OK : ExitCode.INFEASIBLE;
    }
  }

  private Optional<Need> need() {
    if (bytesPerRank == null) {
      if (ranks != null || pages != null || directory != null || numa != null) {
        throw usage("--ranks, --pages, --directory and --numa need --bytes-per-rank");
      }
      return Optional.empty();
    }
    if (directory != null && pages != null) {
      throw usage("--pages and --directory exclude each other: a directory has its own pages");
    }
    int count = ranks == null ? 1 : ranks;
    if (count < 1 || count > 4096) {
      throw usage("--ranks must be 1 to 4096, not " + count);
    }
    if (bytesPerRank.bytes() > Long.MAX_VALUE / 2 / count) {
      throw usage(
          "--bytes-per-rank "
              + bytesPerRank.bytes()
              + " for "
              + count
              + " ranks are more bytes than can be counted");
    }
    if (pages instanceof PageKind.Driver) {
      throw usage("--pages driver cannot be judged: only the driver knows what it can give");
    }
    PageKind kind =
        directory != null ? PageKind.directory(directory) : pages == null ? PageKind.base() : pages;
    NumaOption.Choice place = numa == null ? new NumaOption().convert("inherit") : numa;
    return Optional.of(new Need(count, bytesPerRank.bytes(), kind, place.text(), place.policy()));
  }

  private Backend open() {
    if (root != null) {
      if (backend != null) {
        throw usage("--root and --backend exclude each other: a copied host has no devices");
      }
      if (!Files.isDirectory(root)) {
        throw usage("--root " + root + " is no directory");
      }
      if (!Files.isDirectory(root.resolve("proc")) || !Files.isDirectory(root.resolve("sys"))) {
        throw usage("--root " + root + ": there is no proc/ and sys/ below it");
      }
      return CopiedHost.at(root);
    }
    return Backends.select(backend == null ? Selection.allowSimulated() : Selection.of(backend));
  }

  private ParameterException usage(String message) {
    return new ParameterException(spec.commandLine(), message);
  }

  private Integer compare(Console console, List<Path> files) {
    List<String> differences = Comparison.of(read(files.get(0)), read(files.get(1)));
    if (json) {
      console.result(Console.json().valueToTree(differences));
    } else {
      differences.forEach(console.out()::println);
      console
          .out()
          .println(differences.size() + (differences.size() == 1 ? " difference" : " differences"));
      console.out().flush();
    }
    return differences.isEmpty() ? ExitCode.OK : ExitCode.FAILED;
  }

  private JsonNode read(Path file) {
    try {
      JsonNode tree = Console.json().readTree(Files.readString(file));
      if (!tree.path("host").isObject() || !tree.path("nodes").isArray()) {
        throw usage(file + " is no file that doctor --json wrote");
      }
      return tree;
    } catch (IOException unreadable) {
      throw usage(file + " cannot be read: " + FileTrouble.reason(unreadable));
    }
  }

  private static void write(Path file, Diagnosis found) {
    ObjectNode all = Console.json().createObjectNode();
    all.set("doctor", found.toJson());
    all.set("backends", TranscriptJson.of(Backends.discover()));
    ObjectNode java = all.putObject("java");
    for (String name : List.of("java.version", "java.vm.name", "java.vm.version", "os.arch")) {
      java.put(name, System.getProperty(name));
    }
    try {
      Files.writeString(
          file, Console.json().writeValueAsString(Redaction.of(all, secrets())) + "\n");
    } catch (IOException failed) {
      throw new RefusedException(
          "the bundle could not be written to " + file + ": " + FileTrouble.reason(failed));
    }
  }

  private static Map<String, String> secrets() {
    Map<String, String> secrets = new LinkedHashMap<>();
    secrets.put(System.getProperty("user.home", ""), "<home>");
    secrets.put(System.getProperty("user.name", ""), "<user>");
    try {
      secrets.put(InetAddress.getLocalHost().getHostName(), "<host>");
    } catch (IOException nameless) {
      // A host without a name has none to hide.
    }
    return secrets;
  }
}
