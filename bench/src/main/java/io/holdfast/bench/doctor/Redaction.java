package io.holdfast.bench.doctor;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import java.util.HashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Takes out of a JSON tree what names a site or a person, so that it can be shown: paths outside of
 * the kernel's own trees, control groups, serial numbers, addresses, and words given as secret. The
 * same thing gets the same stand-in everywhere, so that what belongs together still does.
 */
public final class Redaction {
  // Paths that every Linux has.
  private static final Pattern PUBLIC =
      Pattern.compile(
          "/(proc|sys)(/.*)?|/dev/(shm|hugepages|null)/?|/tmp|/run|/dev|/\\.dockerenv"
              + "|/run/\\.containerenv");
  private static final Pattern GROUP_ROOT = Pattern.compile("(/sys/fs/cgroup(?:/[a-z,_]+)?)(/.+)");
  private static final Pattern GROUP_FILE =
      Pattern.compile("((?:memory|hugetlb)\\.[A-Za-z0-9._]+)");
  private static final Pattern PATH =
      Pattern.compile("(?<![A-Za-z0-9_.<>/-])/[A-Za-z0-9_.@:+\\-/]+");
  private static final Pattern UUID =
      Pattern.compile("[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}");
  private static final Pattern LONG_ID = Pattern.compile("\\b[0-9a-f]{32,64}\\b");
  private static final Pattern ADDRESS = Pattern.compile("\\b(?:[0-9]{1,3}\\.){3}[0-9]{1,3}\\b");

  private final Map<String, String> standIns = new HashMap<>();
  private final Map<String, Integer> counts = new HashMap<>();
  private final Map<String, String> secrets;

  private Redaction(Map<String, String> secrets) {
    this.secrets = secrets;
  }

  /**
   * A copy that can be shown.
   *
   * @param tree anything
   * @param secrets words that must not be seen, with what stands in for each
   * @return the copy
   */
  public static JsonNode of(JsonNode tree, Map<String, String> secrets) {
    return new Redaction(secrets).redacted(tree, "");
  }

  private JsonNode redacted(JsonNode node, String name) {
    if (node instanceof ObjectNode object) {
      ObjectNode copy = object.objectNode();
      object
          .properties()
          .forEach(field -> copy.set(field.getKey(), redacted(field.getValue(), field.getKey())));
      return copy;
    }
    if (node instanceof ArrayNode array) {
      ArrayNode copy = array.arrayNode();
      array.forEach(element -> copy.add(redacted(element, name)));
      return copy;
    }
    if (!node.isTextual()) {
      return node;
    }
    // A membership line is all name: which group a process is in says nothing but whose it is.
    return name.endsWith("/cgroup")
        ? TextNode.valueOf(standIn("group", node.asText()))
        : TextNode.valueOf(text(node.asText()));
  }

  private String text(String plain) {
    String text =
        PATH.matcher(plain).replaceAll(found -> Matcher.quoteReplacement(path(found.group())));
    for (Map.Entry<String, String> secret : secrets.entrySet()) {
      if (secret.getKey().length() > 1) {
        text =
            Pattern.compile("(?<![A-Za-z0-9])" + Pattern.quote(secret.getKey()) + "(?![A-Za-z0-9])")
                .matcher(text)
                .replaceAll(Matcher.quoteReplacement(secret.getValue()));
      }
    }
    text = UUID.matcher(text).replaceAll(found -> standIn("uuid", found.group()));
    text = LONG_ID.matcher(text).replaceAll(found -> standIn("id", found.group()));
    return ADDRESS.matcher(text).replaceAll(found -> standIn("address", found.group()));
  }

  private String path(String path) {
    Matcher group = GROUP_ROOT.matcher(path);
    if (group.matches()) {
      Matcher file = GROUP_FILE.matcher(path.substring(path.lastIndexOf('/') + 1));
      return group.group(1)
          + "/"
          + standIn("group", path.substring(0, path.lastIndexOf('/')))
          + (file.matches() ? "/" + file.group(1) : "");
    }
    return PUBLIC.matcher(path).matches() ? path : standIn("path", path);
  }

  private String standIn(String kind, String what) {
    return standIns.computeIfAbsent(
        kind + ":" + what, _ -> "<" + kind + "-" + counts.merge(kind, 1, Integer::sum) + ">");
  }
}
