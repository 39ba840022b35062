package io.holdfast.site;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.commonmark.Extension;
import org.commonmark.ext.gfm.tables.TablesExtension;
import org.commonmark.ext.heading.anchor.HeadingAnchorExtension;
import org.commonmark.ext.heading.anchor.IdGenerator;
import org.commonmark.node.AbstractVisitor;
import org.commonmark.node.Block;
import org.commonmark.node.Code;
import org.commonmark.node.CustomNode;
import org.commonmark.node.FencedCodeBlock;
import org.commonmark.node.HardLineBreak;
import org.commonmark.node.Heading;
import org.commonmark.node.Node;
import org.commonmark.node.SoftLineBreak;
import org.commonmark.node.Text;
import org.commonmark.parser.Parser;
import org.commonmark.renderer.html.HtmlRenderer;

/** Markdown as the documents use it: CommonMark, tables, and headings with anchors. */
final class Markdown {
  private static final List<Extension> EXTENSIONS =
      List.of(TablesExtension.create(), HeadingAnchorExtension.create());
  private static final Parser PARSER = Parser.builder().extensions(EXTENSIONS).build();

  private Markdown() {}

  static Page page(String source, String text) {
    Node document = PARSER.parse(text);
    List<Page.Heading> headings = headings(document);
    if (headings.isEmpty() || headings.getFirst().level() != 1) {
      throw new SiteException(source + ": begins without a heading of the first level");
    }
    return new Page(
        source, target(source), headings.getFirst().text(), List.copyOf(headings), document);
  }

  /** {@code README.md} is what one sees of a folder; everything else keeps its name. */
  private static String target(String source) {
    return source.replaceAll("(^|/)README\\.md$", "$1index.md").replaceAll("\\.md$", ".html");
  }

  static String html(Node document) {
    return HtmlRenderer.builder()
        .extensions(EXTENSIONS)
        .attributeProviderFactory(
            _ ->
                (node, tag, attributes) -> {
                  if (tag.equals("img")) {
                    attributes.put("loading", "lazy");
                  }
                  if (tag.equals("pre") && node instanceof FencedCodeBlock) {
                    attributes.putAll(Map.of("tabindex", "0")); // a keyboard can scroll it
                  }
                })
        .build()
        .render(document);
  }

  private static List<Page.Heading> headings(Node document) {
    IdGenerator anchors = IdGenerator.builder().build(); // as the renderer's extension counts them
    List<Page.Heading> headings = new ArrayList<>();
    for (Node node = document.getFirstChild(); node != null; node = node.getNext()) {
      if (node instanceof Heading heading) {
        String text = textOf(heading);
        headings.add(
            new Page.Heading(heading.getLevel(), anchors.generateId(text), text, below(heading)));
      }
    }
    return headings;
  }

  private static String below(Heading heading) {
    StringBuilder text = new StringBuilder();
    for (Node node = heading.getNext();
        node != null && !(node instanceof Heading);
        node = node.getNext()) {
      text.append(textOf(node)).append(' ');
    }
    return text.toString().replaceAll("\\s+", " ").strip();
  }

  /** What one reads of a node: the words, and code without its quotes. */
  static String textOf(Node node) {
    StringBuilder text = new StringBuilder();
    node.accept(
        new AbstractVisitor() {
          @Override
          protected void visitChildren(Node parent) {
            super.visitChildren(parent);
            if (parent instanceof Block || parent instanceof CustomNode) { // a cell is one
              text.append(' ');
            }
          }

          @Override
          public void visit(FencedCodeBlock code) {
            text.append(code.getLiteral()).append(' ');
          }

          @Override
          public void visit(Text words) {
            text.append(words.getLiteral());
          }

          @Override
          public void visit(Code code) {
            text.append(code.getLiteral());
          }

          @Override
          public void visit(SoftLineBreak end) {
            text.append(' ');
          }

          @Override
          public void visit(HardLineBreak end) {
            text.append(' ');
          }
        });
    return text.toString().strip();
  }
}
