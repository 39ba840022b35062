package io.holdfast.site;

import java.io.File;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.spi.ToolProvider;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The Javadoc of all our modules in one, by the JDK's own tool, which brings its search. */
final class ApiDocs {
  /** Where it lies in the site. */
  static final String FOLDER = "javadoc";

  private static final Pattern MODULE = Pattern.compile("(?m)^(?:open )?module ([a-z.]+) \\{");

  private ApiDocs() {}

  /**
   * Writes it.
   *
   * @param repository its root; every folder with a module descriptor is a module
   * @param libraries what these modules require
   * @param folder for the pages
   * @throws SiteException when the tool finds fault
   */
  static void write(Path repository, List<Path> libraries, Path folder) throws IOException {
    Map<String, Path> modules = modules(repository);
    Path own = Files.createTempDirectory("holdfast-site");
    try {
      List<String> arguments = new ArrayList<>();
      arguments.addAll(List.of("-d", folder.toString(), "-encoding", "UTF-8", "-locale", "en"));
      arguments.addAll(
          List.of("-quiet", "-notimestamp", "--no-fonts", "-Werror", "-Xdoclint:all,-missing"));
      arguments.addAll(List.of("-windowtitle", "Holdfast API", "-doctitle", "Holdfast API"));
      // The link to the guide is completed by the script, which knows how deep a page lies.
      arguments.addAll(List.of("-header", "<a class=\"to-guide\" href=\"#\">Guide</a>"));
      for (String option : List.of("stylesheet", "script")) {
        String name = option.equals("script") ? "javadoc.js" : "javadoc.css";
        Path file = own.resolve(name);
        Folders.write(file, Folders.resource(name));
        arguments.addAll(List.of("--add-" + option, file.toString()));
      }
      modules.forEach(
          (name, sources) ->
              arguments.addAll(List.of("--module-source-path", name + "=" + sources)));
      arguments.add("--module-path");
      arguments.add(
          libraries.stream().map(Path::toString).collect(Collectors.joining(File.pathSeparator)));
      arguments.addAll(List.of("--module", String.join(",", modules.keySet())));
      run(arguments);
    } finally {
      Folders.clear(own);
    }
  }

  private static void run(List<String> arguments) {
    StringWriter said = new StringWriter();
    int status =
        ToolProvider.findFirst("javadoc")
            .orElseThrow(() -> new SiteException("this Java has no javadoc tool: take a JDK"))
            .run(
                new PrintWriter(said, true),
                new PrintWriter(said, true),
                arguments.toArray(String[]::new));
    if (status != 0) {
      throw new SiteException("javadoc failed:\n" + said);
    }
  }

  private static Map<String, Path> modules(Path repository) throws IOException {
    Map<String, Path> modules = new TreeMap<>();
    List<Path> folders;
    try (Stream<Path> all = Files.list(repository)) {
      folders = all.filter(Files::isDirectory).sorted().toList();
    }
    for (Path folder : folders) {
      Path sources = folder.resolve("src/main/java");
      Path descriptor = sources.resolve("module-info.java");
      if (Files.exists(descriptor)) {
        Matcher name = MODULE.matcher(Files.readString(descriptor));
        if (!name.find()) {
          throw new SiteException(descriptor + ": names no module");
        }
        modules.put(name.group(1), sources);
      }
    }
    if (modules.isEmpty()) {
      throw new SiteException("there is no module in " + repository);
    }
    return modules;
  }
}
