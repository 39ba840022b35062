package io.holdfast.site;

import java.util.List;
import org.commonmark.node.Node;

/**
 * A document of the repository.
 *
 * @param source its path in the repository, with slashes
 * @param target its path in the site, with slashes
 * @param title its first heading
 * @param headings in their order
 * @param document parsed
 */
record Page(String source, String target, String title, List<Heading> headings, Node document) {
  /**
   * A heading that can be linked.
   *
   * @param level 1 to 6
   * @param anchor unique in the page
   * @param text without markup
   * @param body what stands below it, up to the next heading, without markup
   */
  record Heading(int level, String anchor, String text, String body) {}
}
