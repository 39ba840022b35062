package io.holdfast.site;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeSet;
import org.commonmark.node.AbstractVisitor;
import org.commonmark.node.Image;
import org.commonmark.node.Link;

/**
 * Turns a document's links into the site's: to other pages, to files shown as they are, and to
 * folders shown as lists. What leads nowhere is a fault.
 */
final class Links {
  private static final String PICTURES = ".*\\.(svg|png|jpg)";

  private final Path repository;
  private final Map<String, Page> pages;
  private final TreeSet<String> files = new TreeSet<>();
  private final TreeSet<String> folders = new TreeSet<>();
  private final List<String> faults = new ArrayList<>();

  /**
   * Links of one site.
   *
   * @param repository its root
   * @param pages by their path in it
   */
  Links(Path repository, Map<String, Page> pages) {
    this.repository = repository;
    this.pages = pages;
  }

  /** Rewrites the links of one page, in its document. */
  void turn(Page page) {
    page.document()
        .accept(
            new AbstractVisitor() {
              @Override
              public void visit(Link link) {
                link.setDestination(turned(page, link.getDestination()));
                visitChildren(link);
              }

              @Override
              public void visit(Image image) {
                image.setDestination(turned(page, image.getDestination()));
                visitChildren(image);
              }
            });
  }

  /** Files that are linked and are no pages. */
  List<String> files() {
    return List.copyOf(files);
  }

  /** Folders that are linked and have no page of their own. */
  List<String> folders() {
    return List.copyOf(folders);
  }

  /** Links that lead nowhere, one line each. */
  List<String> faults() {
    return List.copyOf(faults);
  }

  private String turned(Page page, String destination) {
    if (isElsewhere(destination) || destination.startsWith("#")) {
      return destination;
    }
    int hash = destination.indexOf('#');
    String path = hash < 0 ? destination : destination.substring(0, hash);
    String anchor = hash < 0 ? "" : destination.substring(hash);
    Path file = repository.resolve(page.source()).resolveSibling(path).normalize().toAbsolutePath();
    if (!file.startsWith(repository) || !Files.exists(file)) {
      faults.add(page.source() + ": " + destination + " does not exist");
      return destination;
    }
    return between(page.target(), target(Folders.slashed(repository.relativize(file)))) + anchor;
  }

  /** Where a file or a folder of the repository is shown. */
  String target(String source) {
    Page page = pages.get(source);
    if (page != null) {
      return page.target();
    }
    if (Files.isDirectory(repository.resolve(source))) {
      Page own = pages.get(source + "/README.md");
      if (own != null) {
        return own.target();
      }
      folders.add(source);
      return source + "/index.html";
    }
    files.add(source);
    return isPicture(source) ? source : "source/" + source + ".html";
  }

  static boolean isPicture(String file) {
    return file.toLowerCase(Locale.ROOT).matches(PICTURES);
  }

  static boolean isElsewhere(String destination) {
    return destination.matches("[a-zA-Z][a-zA-Z0-9+.-]*:.*") || destination.startsWith("//");
  }

  /** The way from one page to another, both seen from the site's root. */
  static String between(String from, String to) {
    return toRoot(from) + to;
  }

  /** The way from a page to the site's root: empty, or ends with a slash. */
  static String toRoot(String page) {
    return "../".repeat((int) page.chars().filter(c -> c == '/').count());
  }
}
