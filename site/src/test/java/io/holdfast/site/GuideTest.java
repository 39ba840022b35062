package io.holdfast.site;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import org.jsoup.Jsoup;
import org.jsoup.nodes.Document;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Small repositories, and the sites that are made of them. */
@Tag("full")
final class GuideTest {
  @TempDir Path repository;
  @TempDir Path site;

  @BeforeEach
  void aRepository() throws IOException {
    file("README.md", "# Start\n\nRead [one](docs/one.md#the-second-part).\n");
    file(
        "docs/README.md",
        """
        # All

        ## Pages

        - [Start](../README.md)
        - [Page one](one.md)
        - [Choices](choices)
        """);
    file(
        "docs/one.md",
        """
        # One

        See [the code](../Code.java), [how](#the-second-part), ![it](it.svg).

        ## The second `part`

        | a | b |
        |---|---|
        | x | `y` |
        """);
    file("docs/choices/0001-a.md", "# The first choice\n");
    file("docs/it.svg", "<svg xmlns=\"http://www.w3.org/2000/svg\"/>");
    file("Code.java", "class Code<T> {}");
  }

  private void file(String name, String text) throws IOException {
    Folders.write(repository.resolve(name), text);
  }

  private Guide guide() throws IOException {
    return Guide.of(repository.toRealPath());
  }

  private Document page(String name) throws IOException {
    return Jsoup.parse(Files.readString(site.resolve(name)));
  }

  @Test
  void documents_files_and_folders_become_pages_whose_links_meet() throws IOException {
    assertEquals(4, guide().write(site));
    // The API is not made here.
    Folders.write(site.resolve("javadoc/index.html"), "<p>API</p>");

    assertEquals(7, LinkCheck.check(site));
    assertEquals("docs/one.html#the-second-part", page("index.html").select("main a").attr("href"));
    assertEquals("class Code<T> {}", page("source/Code.java.html").select("main code").text());
    assertEquals("The first choice", page("docs/choices/index.html").select("main a").text());
    assertTrue(Files.exists(site.resolve("docs/it.svg")));
    assertEquals(
        "Page one", page("docs/one.html").select("nav [aria-current]").text(), "where one is");
    assertEquals(
        List.of("../index.html", "../docs/one.html", "../docs/choices/index.html"),
        page("docs/one.html").select("nav a").eachAttr("href"));
  }

  @Test
  void the_search_knows_every_section_by_its_anchor_and_its_words() throws IOException {
    guide().write(site);

    String script = Files.readString(site.resolve("assets/sections.js"));
    JsonNode sections =
        new ObjectMapper().readTree(script.substring("sections = ".length(), script.length() - 2));
    JsonNode part =
        sections
            .valueStream()
            .filter(one -> one.path("title").asText().equals("The second part"))
            .findFirst()
            .orElseThrow();
    assertEquals("docs/one.html#the-second-part", part.path("href").asText());
    assertEquals("One", part.path("page").asText());
    assertEquals("a b x y", part.path("text").asText());
  }

  @Test
  void links_that_lead_nowhere_are_named_all_at_once() throws IOException {
    file("docs/one.md", "# One\n\n[a](gone.md) [b](../../outside.md) ![c](gone.svg)\n");

    String message = assertThrows(SiteException.class, this::guide).getMessage();

    assertEquals(
        List.of(
            "docs/one.md: gone.md does not exist",
            "docs/one.md: ../../outside.md does not exist",
            "docs/one.md: gone.svg does not exist"),
        message.lines().toList());
  }

  @Test
  void a_page_that_the_index_does_not_name_is_a_fault() throws IOException {
    file("docs/two.md", "# Two\n");

    String message = assertThrows(SiteException.class, this::guide).getMessage();

    assertEquals("docs/README.md: does not name docs/two.md", message);
  }

  @Test
  void a_document_without_a_title_is_a_fault() throws IOException {
    file("docs/one.md", "Some words.\n");

    String message = assertThrows(SiteException.class, this::guide).getMessage();

    assertTrue(message.startsWith("docs/one.md: begins without"), message);
  }

  @Test
  void a_finished_site_is_searched_for_lost_anchors_files_and_things_from_a_network()
      throws IOException {
    Folders.write(
        site.resolve("a.html"),
        """
        <h1 id="x(int[],java.util.List)">x</h1><a href="#y">1</a><a href="b.html#z">2</a>
        <a href="c.html">3</a><a href="../d.html">4</a><a href="b.html?q=1#here">5</a>
        <a href="#x(int%5B%5D,java.util.List)">6</a><a href="https://example.org/">7</a>
        <script src="https://example.org/x.js"></script>
        """);
    Folders.write(site.resolve("b.html"), "<p id=here>");
    Folders.write(site.getParent().resolve("d.html"), "outside");

    String message = assertThrows(SiteException.class, () -> LinkCheck.check(site)).getMessage();

    assertEquals(
        List.of(
            "a.html: loads https://example.org/x.js, which needs a network",
            "a.html: #y names an anchor that is not there",
            "a.html: b.html#z names an anchor that is not there",
            "a.html: c.html leads to no file of the site",
            "a.html: ../d.html leads to no file of the site"),
        message.lines().toList());
    Files.delete(site.getParent().resolve("d.html"));
  }

  @Test
  void a_module_that_does_not_document_itself_stops_the_site() throws IOException {
    file("mod/src/main/java/module-info.java", "/** M. */\nmodule m {\n  exports p;\n}\n");
    file(
        "mod/src/main/java/p/A.java",
        "package p;\n\n/** A. {@link Nowhere} */\npublic final class A {}\n");

    String message =
        assertThrows(
                SiteException.class,
                () -> ApiDocs.write(repository, List.of(), site.resolve("javadoc")))
            .getMessage();

    assertTrue(message.toLowerCase(Locale.ROOT).contains("nowhere"), message);
  }
}
