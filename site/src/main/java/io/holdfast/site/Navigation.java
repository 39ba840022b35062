package io.holdfast.site;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.commonmark.node.AbstractVisitor;
import org.commonmark.node.Heading;
import org.commonmark.node.Link;
import org.commonmark.node.Node;

/**
 * The order of the pages, which is that of {@code docs/README.md}: one group for each of its
 * headings.
 */
final class Navigation {
  /** The document that orders all others. */
  static final String INDEX = "docs/README.md";

  private record Group(String title, List<Entry> entries) {}

  private record Entry(String label, String target) {}

  private final List<Group> groups = new ArrayList<>();

  private Navigation() {}

  /**
   * Reads the order.
   *
   * @param pages by their path in the repository, links turned already
   * @param lists where folders are shown that the pages link
   * @throws SiteException when neither a page nor its folder is in a group
   */
  static Navigation of(Map<String, Page> pages, List<String> lists) {
    Page index = pages.get(INDEX);
    if (index == null) {
      throw new SiteException(INDEX + " is missing, which orders the pages");
    }
    Navigation navigation = new Navigation();
    Set<String> shown = new TreeSet<>(lists);
    pages.values().forEach(page -> shown.add(page.target()));
    navigation.read(index, shown);
    navigation.demandAll(pages);
    return navigation;
  }

  private void read(Page index, Set<String> shown) {
    List<Entry> entries = new ArrayList<>();
    for (Node node = index.document().getFirstChild(); node != null; node = node.getNext()) {
      if (node instanceof Heading heading && heading.getLevel() == 2) {
        entries = new ArrayList<>();
        groups.add(new Group(Markdown.textOf(heading), entries));
      } else if (!groups.isEmpty()) {
        collect(node, Links.toRoot(index.target()), shown, entries);
      }
    }
  }

  private static void collect(Node node, String root, Set<String> shown, List<Entry> entries) {
    node.accept(
        new AbstractVisitor() {
          @Override
          public void visit(Link link) {
            String target = link.getDestination();
            if (target.startsWith(root) && shown.contains(target.substring(root.length()))) {
              Entry entry = new Entry(Markdown.textOf(link), target.substring(root.length()));
              if (entries.stream().noneMatch(other -> other.target().equals(entry.target()))) {
                entries.add(entry);
              }
            }
          }
        });
  }

  private void demandAll(Map<String, Page> pages) {
    Set<String> named = new TreeSet<>();
    groups.forEach(group -> group.entries().forEach(entry -> named.add(entry.target())));
    List<String> missing =
        pages.values().stream()
            .filter(page -> !page.source().equals(INDEX))
            .filter(page -> !named.contains(page.target()))
            .filter(page -> !named.contains(listOf(page.target())))
            .map(page -> INDEX + ": does not name " + page.source())
            .toList();
    if (!missing.isEmpty()) {
      throw new SiteException(missing);
    }
  }

  /** The list that a page's folder may have; pages of the guide's first two floors stand alone. */
  private static String listOf(String target) {
    return target.matches("(docs/)?[^/]*") ? "" : target.replaceFirst("[^/]*$", "index.html");
  }

  /** The groups as the template of a page shows them. */
  List<Map<String, Object>> shownOn(String target) {
    return groups.stream()
        .map(
            group ->
                Map.<String, Object>of(
                    "title",
                    group.title(),
                    "open",
                    group.entries().stream().anyMatch(entry -> entry.target().equals(target)),
                    "entries",
                    group.entries().stream()
                        .map(
                            entry ->
                                Map.of(
                                    "label", entry.label(),
                                    "href", Links.between(target, entry.target()),
                                    "here", entry.target().equals(target)))
                        .toList()))
        .toList();
  }
}
