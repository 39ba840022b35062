import com.google.googlejavaformat.java.Main;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;

/**
 * Runs google-java-format over the Java files below a folder: {@code Format (check|apply) FOLDER}.
 *
 * <p>The formatter parses with the javac of the JVM that runs it, so it needs Java 25 for Java 25
 * syntax. A Maven plugin would run it in Maven's own JVM, which may be older; this program is
 * started by the toolchain's {@code java} instead. The exit status is 0 when every file is (or has
 * been) formatted, else 1.
 */
public final class Format {
  private Format() {}

  public static void main(String[] args) throws Exception {
    if (args.length != 2 || !(args[0].equals("check") || args[0].equals("apply"))) {
      System.err.println("usage: Format (check|apply) FOLDER");
      System.exit(2);
    }
    Path root = Path.of(args[1]).toAbsolutePath().normalize();
    List<String> command = new ArrayList<>();
    if (args[0].equals("check")) {
      command.addAll(List.of("--dry-run", "--set-exit-if-changed"));
    } else {
      command.add("--replace");
    }
    List<Path> files = sourcesBelow(root);
    files.forEach(file -> command.add(file.toString()));

    StringWriter out = new StringWriter();
    PrintWriter err = new PrintWriter(System.err, true);
    int status =
        files.isEmpty()
            ? 0
            : new Main(new PrintWriter(out, true), err, System.in)
                .format(command.toArray(String[]::new));
    if (status != 0) {
      out.toString()
          .lines()
          .map(line -> "not formatted: " + root.relativize(Path.of(line)))
          .forEach(System.err::println);
      System.err.println("Format with: ./mvnw -N -Pformat validate");
      System.exit(1);
    }
  }

  /** The sources that are ours: no build output, no hidden folder but this one. */
  private static List<Path> sourcesBelow(Path root) throws IOException {
    List<Path> files = new ArrayList<>();
    Files.walkFileTree(
        root,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult preVisitDirectory(Path folder, BasicFileAttributes attributes) {
            String name = folder.getFileName().toString();
            boolean foreign =
                name.equals("target") || (name.startsWith(".") && !name.equals(".mvn"));
            return foreign && !folder.equals(root)
                ? FileVisitResult.SKIP_SUBTREE
                : FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
            if (attributes.isRegularFile() && file.toString().endsWith(".java")) {
              files.add(file);
            }
            return FileVisitResult.CONTINUE;
          }
        });
    files.sort(null);
    return files;
  }
}
