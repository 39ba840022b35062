package io.holdfast.site;

import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/** Makes the site: {@code Main REPOSITORY FOLDER}. */
public final class Main {
  private Main() {}

  /**
   * Writes the site and checks its links.
   *
   * @param arguments the repository's root, and the folder for the site, which is made anew
   * @throws IOException when a file cannot be read or written
   */
  public static void main(String[] arguments) throws IOException {
    if (arguments.length != 2) {
      System.err.println("usage: Main REPOSITORY FOLDER");
      System.exit(2);
    }
    Path repository = Path.of(arguments[0]).toRealPath();
    Path folder = Path.of(arguments[1]).toAbsolutePath().normalize();
    List<Path> libraries =
        Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
            .map(Path::of)
            .filter(entry -> entry.toString().endsWith(".jar"))
            .toList();
    try {
      Folders.clear(folder);
      int pages = Guide.of(repository).write(folder);
      ApiDocs.write(repository, libraries, folder.resolve(ApiDocs.FOLDER));
      int checked = LinkCheck.check(folder);
      System.out.printf(
          "%d pages of the guide, %d files with the API's; every link leads somewhere: %s%n",
          pages, checked, folder.resolve("index.html"));
    } catch (SiteException wrong) {
      System.err.println(wrong.getMessage());
      System.exit(1);
    }
  }
}
