package io.holdfast.site;

import java.io.IOException;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jsoup.Jsoup;
import org.jsoup.nodes.Document;
import org.jsoup.nodes.Element;

/**
 * Looks at every page of a finished site: each link leads to a file of it and to an anchor that is
 * there, and nothing that a page loads comes from a network.
 */
final class LinkCheck {
  private final Path folder;
  private final Map<Path, Set<String>> anchors = new HashMap<>();
  private final List<String> faults = new ArrayList<>();

  private record Target(Path page, String link, Path file, String anchor) {}

  private LinkCheck(Path folder) {
    this.folder = folder;
  }

  /**
   * Checks a site.
   *
   * @param folder the site
   * @return how many pages were looked at
   * @throws SiteException when a link leads nowhere, naming each
   */
  static int check(Path folder) throws IOException {
    LinkCheck check = new LinkCheck(folder.toAbsolutePath().normalize());
    List<Path> pages = Folders.filesBelow(check.folder, ".html");
    List<Target> targets = new ArrayList<>();
    for (Path page : pages) {
      Document document = Jsoup.parse(Files.readString(page));
      check.anchors.put(page, anchorsOf(document));
      check.collect(page, document, targets);
    }
    targets.forEach(check::demand);
    if (!check.faults.isEmpty()) {
      throw new SiteException(check.faults);
    }
    return pages.size();
  }

  private static Set<String> anchorsOf(Document document) {
    Set<String> anchors = new HashSet<>(Set.of(""));
    document.select("[id]").forEach(element -> anchors.add(element.id()));
    document.select("a[name]").forEach(element -> anchors.add(element.attr("name")));
    return anchors;
  }

  private void collect(Path page, Document document, List<Target> targets) {
    for (Element element : document.select("[href], [src]")) {
      String link = element.attr(element.hasAttr("href") ? "href" : "src");
      if (!Links.isElsewhere(link)) {
        targets.add(target(page, link));
      } else if (!element.normalName().equals("a")) {
        faults.add(folder.relativize(page) + ": loads " + link + ", which needs a network");
      }
    }
  }

  private static Target target(Path page, String link) {
    int hash = link.indexOf('#');
    String anchor = hash < 0 ? "" : link.substring(hash + 1);
    String path = (hash < 0 ? link : link.substring(0, hash)).replaceAll("\\?.*", "");
    Path file =
        path.isEmpty() ? page : page.resolveSibling(decoded(path)).normalize().toAbsolutePath();
    return new Target(page, link, file, decoded(anchor));
  }

  private static String decoded(String text) {
    return URLDecoder.decode(text.replace("+", "%2B"), StandardCharsets.UTF_8);
  }

  private void demand(Target target) {
    String where = folder.relativize(target.page()) + ": " + target.link();
    if (!target.file().startsWith(folder) || !Files.isRegularFile(target.file())) {
      faults.add(where + " leads to no file of the site");
    } else if (!anchors.getOrDefault(target.file(), Set.of("")).contains(target.anchor())) {
      faults.add(where + " names an anchor that is not there");
    }
  }
}
