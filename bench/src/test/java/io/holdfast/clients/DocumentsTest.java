package io.holdfast.clients;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.xml.parsers.DocumentBuilderFactory;
import org.commonmark.ext.heading.anchor.HeadingAnchorExtension;
import org.commonmark.node.AbstractVisitor;
import org.commonmark.node.FencedCodeBlock;
import org.commonmark.node.Image;
import org.commonmark.node.Link;
import org.commonmark.node.Node;
import org.commonmark.parser.Parser;
import org.commonmark.renderer.html.HtmlRenderer;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.w3c.dom.Element;

/** Every document: its links lead somewhere, its code is compiled, and the index names it. */
final class DocumentsTest {
  private static final Path ROOT = Path.of("").toAbsolutePath().getParent();

  /** By path from the root. */
  private static final Map<String, Document> DOCUMENTS = new TreeMap<>();

  /**
   * What a document has.
   *
   * @param links that are no web addresses, pictures among them
   * @param anchors of its headings
   * @param java its blocks of Java
   */
  private record Document(List<String> links, Set<String> anchors, List<String> java) {
    static Document of(String text) {
      Node root = Parser.builder().build().parse(text);
      List<String> links = new ArrayList<>();
      List<String> java = new ArrayList<>();
      root.accept(
          new AbstractVisitor() {
            @Override
            public void visit(Link link) {
              links.add(link.getDestination());
              visitChildren(link);
            }

            @Override
            public void visit(Image image) {
              links.add(image.getDestination());
            }

            @Override
            public void visit(FencedCodeBlock block) {
              if (block.getInfo().equals("java")) {
                java.add(block.getLiteral());
              }
            }
          });
      links.removeIf(link -> link.matches("[a-z]+:.*"));
      return new Document(links, anchors(root), java);
    }

    private static Set<String> anchors(Node root) {
      HtmlRenderer renderer =
          HtmlRenderer.builder().extensions(List.of(HeadingAnchorExtension.create())).build();
      Set<String> anchors = new HashSet<>();
      Pattern.compile("<h[1-6] id=\"([^\"]*)\"")
          .matcher(renderer.render(root))
          .results()
          .forEach(found -> anchors.add(found.group(1)));
      return anchors;
    }
  }

  @BeforeAll
  static void read() throws IOException {
    List<Path> files = new ArrayList<>();
    try (Stream<Path> top = Files.list(ROOT);
        Stream<Path> docs = Files.walk(ROOT.resolve("docs"))) {
      Stream.concat(top, docs).filter(file -> file.toString().endsWith(".md")).forEach(files::add);
    }
    for (Path file : files) {
      DOCUMENTS.put(ROOT.relativize(file).toString(), Document.of(Files.readString(file)));
    }
    assertTrue(DOCUMENTS.size() > 25, DOCUMENTS.keySet().toString());
  }

  /** Where a link of a document leads, from the root; without its anchor. */
  private static String target(String document, String link) {
    String path = link.replaceFirst("#.*", "");
    Path file =
        path.isEmpty() ? ROOT.resolve(document) : ROOT.resolve(document).resolveSibling(path);
    return ROOT.relativize(file.normalize()).toString();
  }

  @Test
  void every_link_leads_to_a_file_and_to_an_anchor_that_is_there() {
    List<String> faults = new ArrayList<>();
    DOCUMENTS.forEach(
        (name, document) -> {
          for (String link : document.links()) {
            String target = target(name, link);
            int hash = link.indexOf('#');
            Document other = DOCUMENTS.get(target);
            if (target.startsWith("..") || !Files.exists(ROOT.resolve(target))) {
              faults.add(name + ": " + link + " does not exist");
            } else if (hash >= 0
                && (other == null || !other.anchors().contains(link.substring(hash + 1)))) {
              faults.add(name + ": " + link + " names no heading there");
            }
          }
        });

    assertEquals(List.of(), faults);
  }

  @Test
  void every_block_of_java_stands_in_a_source_that_is_compiled() throws IOException {
    StringBuilder compiled = new StringBuilder();
    try (Stream<Path> files = Files.walk(ROOT)) {
      for (Path file :
          files
              .filter(file -> file.toString().endsWith(".java"))
              .filter(file -> file.toString().contains("/src/test/java/"))
              .toList()) {
        compiled.append(plain(Files.readString(file))).append('\n');
      }
    }
    String sources = compiled.toString();
    List<String> strangers = new ArrayList<>();
    Map<String, Integer> seen = new HashMap<>();
    DOCUMENTS.forEach(
        (name, document) -> {
          for (String block : document.java()) {
            seen.merge(name, 1, Integer::sum);
            if (!sources.contains(plain(block))) {
              strangers.add(name + " shows code that is not compiled:\n" + block);
            }
          }
        });

    assertEquals(List.of(), strangers);
    assertTrue(
        seen.keySet()
            .containsAll(
                Set.of(
                    "README.md",
                    "docs/engine-guide.md",
                    "docs/observability.md",
                    "docs/simulator.md",
                    "docs/vendor-guide.md")),
        seen.toString());
  }

  private static String plain(String code) {
    return code.replaceAll("\\s+", ""); // the formatter may break lines elsewhere
  }

  @Test
  void the_index_names_every_page_or_its_folder() {
    Set<String> named = new TreeSet<>();
    String index = "docs/README.md";
    DOCUMENTS.get(index).links().forEach(link -> named.add(target(index, link)));

    List<String> missing =
        DOCUMENTS.keySet().stream()
            .filter(name -> !name.equals(index) && !named.contains(name))
            .filter(name -> !named.contains(name.replaceFirst("/?[^/]*$", "")))
            .toList();

    assertEquals(List.of(), missing);
  }

  @Test
  void every_picture_is_shown_and_says_in_words_what_it_shows() throws Exception {
    Set<String> shown = new TreeSet<>();
    DOCUMENTS.forEach(
        (name, document) ->
            document.links().stream()
                .filter(link -> link.endsWith(".svg"))
                .forEach(link -> shown.add(target(name, link))));
    Set<String> there = new TreeSet<>();
    try (Stream<Path> files = Files.list(ROOT.resolve("docs/images"))) {
      files.forEach(file -> there.add(ROOT.relativize(file).toString()));
    }

    assertEquals(there, shown);
    for (String picture : there) {
      Element svg =
          DocumentBuilderFactory.newInstance()
              .newDocumentBuilder()
              .parse(ROOT.resolve(picture).toFile())
              .getDocumentElement();
      for (String words : List.of("title", "desc")) {
        assertTrue(svg.getElementsByTagName(words).item(0).getTextContent().length() > 5, picture);
      }
      assertTrue(
          svg.getElementsByTagName("style")
              .item(0)
              .getTextContent()
              .contains("prefers-color-scheme: dark"),
          picture);
    }
  }
}
