package io.holdfast.conformance.run;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.conformance.Catalogue;
import io.holdfast.conformance.NamedBackend;
import io.holdfast.conformance.Profile;
import io.holdfast.conformance.Quarantine;
import io.holdfast.conformance.Rule;
import io.holdfast.conformance.Verdict;
import java.io.File;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.jar.JarFile;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Judges a backend, and compares what was judged. */
@Command(
    name = "conformance",
    mixinStandardHelpOptions = true,
    description = "Judges a backend by the rules of the kit and writes reports.",
    subcommands = ConformanceCommand.Compare.class,
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {
      "0:the backend keeps what was judged",
      "1:it does not, or it cannot be used",
      "2:the command line makes no sense"
    })
public final class ConformanceCommand implements Callable<Integer> {
  private static final String PART = "[1-9][0-9]{0,3}/[1-9][0-9]{0,3}";

  @Spec private CommandSpec spec = CommandSpec.create(); // replaced by picocli

  @Option(names = "--backend", paramLabel = "ID", description = "For example cuda, cpu-sim:gb200.")
  private @Nullable String backend;

  @Option(
      names = "--profile",
      split = ",",
      paramLabel = "NAME",
      description = "Which profiles: ${COMPLETION-CANDIDATES}; all by default.")
  private @Nullable Set<Profile> profiles;

  @Option(
      names = "--rule",
      split = ",",
      paramLabel = "RULE",
      description = "Which rules, for example REG-03; all of the profiles by default.")
  private @Nullable List<String> rules;

  @Option(
      names = "--part",
      paramLabel = "K/N",
      description = "Runs the k-th of n parts; with --report they come together in one report.")
  private String part = "1/1";

  @Option(
      names = "--report",
      paramLabel = "DIR",
      description = "Writes report.json, report.md, report.html and JUnit XML there.")
  private @Nullable Path report;

  @Option(names = "--resume", description = "Leaves out tests that the report in DIR already has.")
  private boolean resume;

  @Option(
      names = "--strict",
      description = "What this host cannot show is a failure, and so is a finding.")
  private boolean strict;

  @Option(names = "--json", description = "The report as JSON on standard output.")
  private boolean json;

  @Option(
      names = "--quarantine",
      paramLabel = "FILE",
      description = "Rules known to be broken, one a line: RULE-ID ISSUE YYYY-MM-DD.")
  private @Nullable Path quarantine;

  @Option(
      names = "--backend-path",
      paramLabel = "PATH",
      description = "Jars and folders of a vendor's backend, beside the class path.")
  private @Nullable String path;

  @Option(
      names = "--patience",
      paramLabel = "SECONDS",
      description = "Longest time for one test; ${DEFAULT-VALUE} by default.")
  private int patience = 120;

  @Option(names = "--catalogue", description = "Prints the rules and runs nothing.")
  private boolean catalogue;

  /** Made by picocli. */
  public ConformanceCommand() {}

  @Override
  public Integer call() {
    PrintWriter out = spec.commandLine().getOut();
    PrintWriter err = spec.commandLine().getErr();
    if (catalogue) {
      out.print(Catalogue.markdown());
      out.flush();
      return 0;
    }
    String id = backend;
    if (id == null || id.isBlank()) {
      throw wrong("Name a backend with --backend ID");
    }
    if (!part.matches(PART)) {
      throw wrong("--part is K/N, for example 2/5, not '" + part + "'");
    }
    int slash = part.indexOf('/');
    int which = Integer.parseInt(part.substring(0, slash));
    int of = Integer.parseInt(part.substring(slash + 1));
    if (which > of) {
      throw wrong("--part " + part + ": there is no part " + which + " of " + of);
    }
    if (patience < 1) {
      throw wrong("--patience is at least 1 second, not " + patience);
    }
    takeQuarantines();
    ConformanceRun run =
        new ConformanceRun(
            id,
            profiles == null || profiles.isEmpty() ? EnumSet.allOf(Profile.class) : profiles,
            chosenRules(),
            which,
            of,
            strict,
            patience);
    if (!run.choosesSomething()) {
      throw wrong("no test is chosen by these profiles and rules");
    }
    ClassLoader before = Thread.currentThread().getContextClassLoader();
    try (URLClassLoader vendor = vendorLoader(before)) {
      Thread.currentThread().setContextClassLoader(vendor);
      return judge(run, out, err);
    } catch (IOException failed) {
      throw new UncheckedIOException("the backend's jars could not be closed", failed);
    } finally {
      Thread.currentThread().setContextClassLoader(before);
    }
  }

  private ParameterException wrong(String what) {
    return new ParameterException(spec.commandLine(), what);
  }

  private void takeQuarantines() {
    if (quarantine == null) {
      return;
    }
    try {
      Quarantine.read(quarantine);
    } catch (IOException unreadable) {
      throw wrong("--quarantine " + quarantine + ": " + FileTrouble.reason(unreadable));
    } catch (IllegalArgumentException unclear) {
      throw wrong("--quarantine " + quarantine + ": " + unclear.getMessage());
    }
    System.setProperty(NamedBackend.QUARANTINE, quarantine.toString());
  }

  private Set<Rule> chosenRules() {
    Set<Rule> chosen = EnumSet.noneOf(Rule.class);
    for (String id : rules == null ? List.<String>of() : rules) {
      try {
        chosen.add(Rule.valueOf(id.strip().toUpperCase(Locale.ROOT).replace('-', '_')));
      } catch (IllegalArgumentException unknown) {
        throw wrong("there is no rule '" + id + "'; --catalogue prints them");
      }
    }
    return chosen;
  }

  private URLClassLoader vendorLoader(ClassLoader parent) throws IOException {
    List<URL> urls = new ArrayList<>();
    for (String one : path == null ? List.<String>of() : List.of(path.split(File.pathSeparator))) {
      if (!Files.exists(Path.of(one))) {
        throw wrong("--backend-path: there is no " + one);
      }
      if (!Files.isDirectory(Path.of(one)) && !isJar(one)) {
        throw wrong("--backend-path: " + one + " is neither a folder nor a jar");
      }
      urls.add(Path.of(one).toUri().toURL());
    }
    return new URLClassLoader(urls.toArray(URL[]::new), parent);
  }

  private static boolean isJar(String file) {
    try (JarFile _ = new JarFile(file)) {
      return true;
    } catch (IOException _) {
      return false;
    }
  }

  private int judge(ConformanceRun run, PrintWriter out, PrintWriter err) {
    Host host = Host.look(run.backend());
    Optional<ReportFolder> folder =
        Optional.ofNullable(report).map(where -> openFolder(where, head(host)));
    Map<String, Result> results = new LinkedHashMap<>();
    folder.ifPresent(one -> one.results().forEach(known -> results.put(known.test(), known)));
    Set<String> done = resume ? Set.copyOf(results.keySet()) : Set.of();
    int executed =
        run.run(
            done,
            result -> {
              folder.ifPresent(one -> one.add(result));
              synchronized (results) {
                results.put(result.test(), result);
              }
              if (result.verdict() != Verdict.PASSED) {
                err.println(
                    result.verdict() + " " + result.test() + ": " + firstLine(result.reason()));
                err.flush();
              }
            });
    folder.ifPresent(one -> one.results().forEach(known -> results.put(known.test(), known)));
    Report made = new Report(host, command(), strict, List.copyOf(results.values()));
    folder.ifPresent(one -> one.write(made));
    if (json) {
      out.println(Json.indented(made.toJson()));
    } else {
      print(made, executed, out);
    }
    out.flush();
    return made.isFine() ? 0 : 1;
  }

  /** Parts come together, and so does what a stopped run left; a whole run begins anew. */
  private ReportFolder openFolder(Path where, String head) {
    boolean keep = resume || !part.endsWith("/1");
    try {
      return ReportFolder.open(
          where, head, keep ? ReportFolder.Earlier.KEEP : ReportFolder.Earlier.FORGET);
    } catch (IllegalStateException others) {
      throw wrong(others.getMessage() + ": choose another folder, or run the whole without parts");
    }
  }

  /** What results in a folder must be about to belong to this report. */
  private String head(Host host) {
    return String.join(
        " ",
        "holdfast-conformance",
        strict ? "strict" : "lenient",
        host.facts().getOrDefault("backend", "?"),
        host.facts().getOrDefault("declaration", "?"),
        host.facts().getOrDefault("kit", "?"));
  }

  private static String firstLine(String text) {
    String line = text.lines().findFirst().orElse("");
    return line.length() > 300 ? line.substring(0, 300) + "..." : line;
  }

  /** The command line as it must be typed to do this again, whole and not in parts. */
  private String command() {
    StringBuilder again = new StringBuilder();
    new TreeMap<>(System.getProperties())
        .forEach(
            (name, value) -> {
              if (String.valueOf(name).startsWith("holdfast.")
                  && !String.valueOf(name).startsWith("holdfast.conformance.")) {
                again.append(again.isEmpty() ? "" : " ").append("-D").append(name);
                again.append('=').append(value);
              }
            });
    StringBuilder command = new StringBuilder();
    if (!again.isEmpty()) {
      command.append("HOLDFAST_JAVA_OPTS=").append(quoted(again.toString())).append(' ');
    }
    command.append("./holdfast conformance --backend ").append(quoted(String.valueOf(backend)));
    if (profiles != null && !profiles.isEmpty()) {
      command.append(" --profile ");
      command.append(
          new TreeSet<>(profiles).stream().map(Enum::name).collect(Collectors.joining(",")));
    }
    if (rules != null && !rules.isEmpty()) {
      command.append(" --rule ");
      command.append(chosenRules().stream().map(Rule::id).collect(Collectors.joining(",")));
    }
    command.append(strict ? " --strict" : "");
    if (quarantine != null) {
      command.append(" --quarantine ").append(quoted(quarantine.toString()));
    }
    if (path != null) {
      command.append(" --backend-path ").append(quoted(path));
    }
    return command.toString();
  }

  /** As a shell takes it for one word. */
  private static String quoted(String word) {
    return word.matches("[A-Za-z0-9_./:=,@%+-]+") ? word : "'" + word.replace("'", "'\\''") + "'";
  }

  private static void print(Report report, int executed, PrintWriter out) {
    Map<String, String> facts = report.host().facts();
    out.println(
        facts.get("backend")
            + ": "
            + facts.get("version")
            + ", declaration "
            + facts.get("declaration"));
    for (Profile profile : Profile.values()) {
      List<Result> all = report.of(profile);
      if (!all.isEmpty()) {
        out.printf(
            Locale.ROOT,
            "%-13s %3d passed, %d failed, %d skipped, %d inverted: %s%n",
            profile,
            report.count(profile, Verdict.PASSED),
            report.count(profile, Verdict.FAILED),
            report.count(profile, Verdict.SKIPPED),
            report.count(profile, Verdict.INVERTED),
            report.standing(profile));
      }
    }
    long millis = report.results().stream().mapToLong(Result::millis).sum();
    out.printf(
        Locale.ROOT,
        "%d tests run now, %d in the report, %.1f s%n",
        executed,
        report.results().size(),
        millis / 1000.0);
  }

  /** Compares two reports, rule by rule. */
  @Command(
      name = "compare",
      mixinStandardHelpOptions = true,
      description = "Compares two reports, rule by rule; exit code 1 where they differ.")
  static final class Compare implements Callable<Integer> {
    @Spec private CommandSpec spec = CommandSpec.create(); // replaced by picocli

    @Parameters(index = "0", paramLabel = "A", description = "A report.json or its folder.")
    private Path one = Path.of("");

    @Parameters(index = "1", paramLabel = "B", description = "Another.")
    private Path other = Path.of("");

    Compare() {}

    @Override
    public Integer call() {
      PrintWriter out = spec.commandLine().getOut();
      JsonNode a = read(one);
      JsonNode b = read(other);
      Map<String, String> left = Report.outcomesOf(a);
      Map<String, String> right = Report.outcomesOf(b);
      int differences = 0;
      for (String fact : List.of("backend", "version", "declaration", "kit", "kernel")) {
        String before = a.path("host").path(fact).asText();
        String now = b.path("host").path(fact).asText();
        if (!before.equals(now)) {
          out.println(fact + ": " + before + " -> " + now);
        }
      }
      Set<String> all = new TreeSet<>(left.keySet());
      all.addAll(right.keySet());
      for (String rule : all) {
        String before = left.getOrDefault(rule, "no such rule");
        String now = right.getOrDefault(rule, "no such rule");
        if (!before.equals(now)) {
          differences++;
          out.println(rule + ": " + before + " -> " + now);
        }
      }
      out.println(differences + " of " + all.size() + " rules differ");
      out.flush();
      return differences == 0 ? 0 : 1;
    }

    private JsonNode read(Path where) {
      Path file = Files.isDirectory(where) ? where.resolve("report.json") : where;
      try {
        JsonNode report = Json.MAPPER.readTree(Files.readString(file));
        if (!report.path("rules").isObject()) {
          throw new ParameterException(spec.commandLine(), file + " is no report of this kit");
        }
        return report;
      } catch (IOException unreadable) {
        throw new ParameterException(
            spec.commandLine(),
            file + " cannot be read as a report: " + FileTrouble.reason(unreadable));
      }
    }
  }
}
