package io.holdfast.conformance.run;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.conformance.Rule;
import io.holdfast.conformance.Verdict;
import java.util.ArrayList;
import java.util.List;

/** Results as JSON, and back. */
final class Json {
  static final ObjectMapper MAPPER = new ObjectMapper();
  private static final ObjectMapper INDENTED =
      new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);

  private Json() {}

  static String line(JsonNode node) {
    return write(MAPPER, node);
  }

  static String indented(JsonNode node) {
    return write(INDENTED, node);
  }

  private static String write(ObjectMapper mapper, JsonNode node) {
    try {
      return mapper.writeValueAsString(node);
    } catch (JsonProcessingException impossible) {
      throw new AssertionError("a tree of plain nodes can always be written", impossible);
    }
  }

  static ObjectNode of(Result result) {
    ObjectNode node = MAPPER.createObjectNode();
    node.put("test", result.test());
    ArrayNode rules = node.putArray("rules");
    result.rules().forEach(rule -> rules.add(rule.id()));
    node.put("verdict", result.verdict().name());
    node.put("reason", result.reason());
    if (!result.trace().isEmpty()) {
      node.put("trace", result.trace());
    }
    ArrayNode limits = node.putArray("limits");
    result.limits().forEach(limits::add);
    node.put("millis", result.millis());
    return node;
  }

  static Result result(JsonNode node) {
    List<Rule> rules = new ArrayList<>();
    node.path("rules").forEach(id -> rules.add(Rule.valueOf(id.asText().replace('-', '_'))));
    List<String> limits = new ArrayList<>();
    node.path("limits").forEach(limit -> limits.add(limit.asText()));
    return new Result(
        node.path("test").asText(),
        rules,
        Verdict.valueOf(node.path("verdict").asText()),
        node.path("reason").asText(),
        node.path("trace").asText(),
        limits,
        node.path("millis").asLong());
  }
}
