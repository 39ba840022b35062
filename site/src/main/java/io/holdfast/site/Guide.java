package io.holdfast.site;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.samskivert.mustache.Mustache;
import com.samskivert.mustache.Template;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.jsoup.Jsoup;
import org.jsoup.nodes.Document;
import org.jsoup.nodes.Element;
import org.jsoup.nodes.Entities;

/** The guide: the documents at the repository's root and below {@code docs}, and what they link. */
final class Guide {
  private static final List<String> ASSETS =
      List.of("site.css", "site.js", "lunr.min.js", "highlight.min.js");

  /** Cells with more letters hold sentences, not figures. */
  private static final int SENTENCE = 60;

  private final Path repository;
  private final Map<String, Page> pages;
  private final Links links;
  private final Navigation navigation;

  private Guide(Path repository, Map<String, Page> pages) {
    this.repository = repository;
    this.pages = pages;
    this.links = new Links(repository, pages);
    pages.values().forEach(links::turn);
    if (!links.faults().isEmpty()) {
      throw new SiteException(links.faults());
    }
    this.navigation = Navigation.of(pages, links.folders().stream().map(links::target).toList());
  }

  /**
   * Reads the documents.
   *
   * @param repository its root
   * @throws SiteException when a link leads nowhere, or a page is not in the index of pages
   */
  static Guide of(Path repository) throws IOException {
    List<Path> files = new ArrayList<>(Folders.filesBelow(repository.resolve("docs"), ".md"));
    try (Stream<Path> top = Files.list(repository)) {
      top.filter(file -> file.toString().endsWith(".md")).forEach(files::add);
    }
    Map<String, Page> pages = new TreeMap<>();
    for (Path file : files) {
      String source = Folders.slashed(repository.relativize(file));
      pages.put(source, Markdown.page(source, Files.readString(file)));
    }
    return new Guide(repository, pages);
  }

  /** Writes the guide's pages and what they need. Returns how many pages there are. */
  int write(Path folder) throws IOException {
    Template template =
        Mustache.compiler().escapeHTML(true).compile(Folders.resource("page.mustache"));
    for (Page page : pages.values()) {
      show(template, folder, page.target(), page.title(), contents(page), html(page));
    }
    for (String source : links.folders()) {
      show(template, folder, links.target(source), source, List.of(), listing(source));
    }
    for (String source : links.files()) {
      if (Links.isPicture(source)) {
        Path picture = folder.resolve(source);
        Files.createDirectories(picture.getParent());
        Files.copy(repository.resolve(source), picture);
      } else {
        show(template, folder, links.target(source), source, List.of(), file(source));
      }
    }
    for (String asset : ASSETS) {
      Folders.write(folder.resolve("assets").resolve(asset), Folders.resource(asset));
    }
    Folders.write(folder.resolve("assets/sections.js"), "sections = " + sections() + ";\n");
    return pages.size();
  }

  private void show(
      Template template,
      Path folder,
      String target,
      String title,
      List<Map<String, String>> contents,
      String html)
      throws IOException {
    Map<String, Object> values = new HashMap<>();
    values.put("title", title);
    values.put("root", Links.toRoot(target));
    values.put("groups", navigation.shownOn(target));
    values.put("contents", contents);
    values.put("hasContents", contents.size() > 1);
    values.put("html", html);
    Folders.write(folder.resolve(target), template.execute(values));
  }

  private static String html(Page page) {
    Document document = Jsoup.parseBodyFragment(Markdown.html(page.document()));
    document.outputSettings().prettyPrint(false);
    document.select("table").forEach(Guide::fit);
    return document.body().html();
  }

  /** A wide table scrolls by itself; one of sentences can also be read row by row on a phone. */
  private static void fit(Element table) {
    boolean sentences =
        table.select("td").stream().anyMatch(cell -> cell.text().length() > SENTENCE);
    table.wrap("<div class=\"wide%s\" tabindex=\"0\">".formatted(sentences ? " rows" : ""));
    List<String> names = table.select("th").eachText();
    for (Element row : table.select("tbody tr")) {
      for (Element cell : row.select("td")) {
        int column = cell.elementSiblingIndex();
        cell.attr("data-label", column < names.size() ? names.get(column) : "");
      }
    }
  }

  private static List<Map<String, String>> contents(Page page) {
    return page.headings().stream()
        .filter(heading -> heading.level() == 2)
        .map(heading -> Map.of("text", heading.text(), "anchor", heading.anchor()))
        .toList();
  }

  private String listing(String source) throws IOException {
    List<Path> files;
    try (Stream<Path> all = Files.list(repository.resolve(source))) {
      files = all.filter(Files::isRegularFile).sorted().toList();
    }
    StringBuilder html = new StringBuilder("<h1>").append(escaped(source)).append("</h1>\n<ul>\n");
    for (Path file : files) {
      Page page = pages.get(Folders.slashed(repository.relativize(file)));
      if (page != null) {
        html.append("<li><a href=\"")
            .append(escaped(Links.between(links.target(source), page.target())))
            .append("\">")
            .append(escaped(page.title()))
            .append("</a></li>\n");
      }
    }
    return html.append("</ul>\n").toString();
  }

  private String file(String source) throws IOException {
    String language =
        source.endsWith(".java")
            ? "java"
            : source.endsWith(".json") ? "json" : source.endsWith(".xml") ? "xml" : "plaintext";
    return "<h1 class=\"file\">%s</h1>\n<pre tabindex=\"0\"><code class=\"language-%s\">%s</code></pre>\n"
        .formatted(
            escaped(source), language, escaped(Files.readString(repository.resolve(source))));
  }

  private static String escaped(String text) {
    return Entities.escape(text);
  }

  /** What the search looks through: one entry for each heading. */
  private String sections() throws JsonProcessingException {
    ObjectMapper json = new ObjectMapper();
    ArrayNode all = json.createArrayNode();
    for (Page page : pages.values()) {
      for (Page.Heading heading : page.headings()) {
        all.addObject()
            .put("href", page.target() + (heading.level() == 1 ? "" : "#" + heading.anchor()))
            .put("page", page.title())
            .put("title", heading.text())
            .put("text", heading.body());
      }
    }
    return json.writeValueAsString(all);
  }
}
