package io.holdfast.clients;

import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;

/** Compiles small programs as their authors would. */
public final class Javac {
  private Javac() {}

  /**
   * What came of a compilation.
   *
   * @param succeeded whether classes were written
   * @param errors the messages
   */
  public record Outcome(boolean succeeded, String errors) {}

  /** Compiles sources, by file name, into a folder. */
  public static Outcome compile(Path into, List<String> options, Map<String, String> sources) {
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    DiagnosticCollector<JavaFileObject> found = new DiagnosticCollector<>();
    List<String> all = new ArrayList<>(options);
    all.addAll(List.of("-d", into.toString(), "--release", "25", "-proc:none"));
    List<JavaFileObject> units = new ArrayList<>();
    sources.forEach((name, text) -> units.add(new Source(name, text)));
    boolean succeeded = compiler.getTask(new StringWriter(), null, found, all, null, units).call();
    String errors =
        found.getDiagnostics().stream()
            .map(one -> one.getMessage(Locale.ROOT))
            .collect(Collectors.joining("\n"));
    return new Outcome(succeeded, errors);
  }

  /** The jar or folder a class came from. */
  public static Path artifactOf(Class<?> type) {
    try {
      return Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI());
    } catch (URISyntaxException impossible) {
      throw new AssertionError(impossible);
    }
  }

  /** A fresh folder. */
  public static Path folder(Path parent, String name) {
    try {
      return Files.createDirectories(parent.resolve(name));
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
  }

  private static final class Source extends SimpleJavaFileObject {
    private final String text;

    Source(String name, String text) {
      super(URI.create("string:///" + name), Kind.SOURCE);
      this.text = text;
    }

    @Override
    public CharSequence getCharContent(boolean ignoreEncodingErrors) {
      return text;
    }
  }
}
