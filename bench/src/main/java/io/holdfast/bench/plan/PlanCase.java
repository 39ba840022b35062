package io.holdfast.bench.plan;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.bench.tool.Console;
import io.holdfast.bench.tool.RefusedException;
import io.holdfast.bench.tool.Wording;
import io.holdfast.layout.Plane;
import io.holdfast.pin.CutPolicy;
import io.holdfast.pin.PageCuts;
import io.holdfast.pin.PlanGeometry;
import io.holdfast.pin.PlanOutcome;
import io.holdfast.pin.RegistrationPlan;
import java.util.ArrayList;
import java.util.List;

/**
 * One geometry with its answers.
 *
 * @param name for the reader
 * @param geometry cap and slice included
 */
public record PlanCase(String name, PlanGeometry geometry) {
  /**
   * Reads one or many cases.
   *
   * @param root one case, an array of cases, or an object with the array {@code cases}
   * @return the cases, at least one
   * @throws RefusedException names the case and the field that is wrong
   */
  public static List<PlanCase> read(JsonNode root) {
    JsonNode list = root.isObject() && root.has("cases") ? root.get("cases") : root;
    List<PlanCase> cases = new ArrayList<>();
    if (list.isArray()) {
      for (int i = 0; i < list.size(); i++) {
        cases.add(one(list.get(i), "case " + i));
      }
    } else {
      cases.add(one(list, "geometry"));
    }
    if (cases.isEmpty()) {
      throw new RefusedException("the geometry file holds no case");
    }
    return cases;
  }

  private static PlanCase one(JsonNode node, String where) {
    if (!node.isObject()) {
      throw new RefusedException(where + " is no JSON object");
    }
    String name = node.path("name").isTextual() ? node.get("name").asText() : where;
    requireAll(node, name);
    long cap = number(node, "maxRegistrationBytes", name);
    List<Plane> planes = new ArrayList<>();
    JsonNode list = node.path("planes");
    if (!list.isMissingNode() && !list.isArray()) {
      throw new RefusedException(name + ": 'planes' is no array");
    }
    try {
      for (JsonNode plane : list) {
        long stride = number(plane, "strideBytes", name);
        long block = plane.has("blockBytes") ? number(plane, "blockBytes", name) : stride;
        planes.add(
            new Plane(number(plane, "offset", name), stride, block, number(plane, "blocks", name)));
      }
      long slice = node.has("sliceBytes") ? number(node, "sliceBytes", name) : cap;
      return new PlanCase(
          name,
          new PlanGeometry(
              number(node, "mappedBytes", name),
              number(node, "backingPageBytes", name),
              cap,
              slice,
              planes));
    } catch (IllegalArgumentException wrong) {
      throw new RefusedException(name + ": " + wrong.getMessage());
    }
  }

  /** Whoever wrote half a case learns all that it lacks at once. */
  private static void requireAll(JsonNode node, String where) {
    List<String> missing = new ArrayList<>();
    List.of("mappedBytes", "backingPageBytes", "maxRegistrationBytes").stream()
        .filter(field -> !node.has(field))
        .forEach(field -> missing.add("'" + field + "'"));
    int number = 0;
    for (JsonNode plane : node.path("planes")) {
      for (String field : List.of("offset", "strideBytes", "blocks")) {
        if (!plane.has(field)) {
          missing.add("'" + field + "' of plane " + number);
        }
      }
      number++;
    }
    if (!missing.isEmpty()) {
      throw new RefusedException(
          where
              + ": "
              + String.join(", ", missing)
              + (missing.size() == 1 ? " is missing" : " are missing"));
    }
  }

  private static long number(JsonNode node, String field, String where) {
    JsonNode value = node.path(field);
    if (!value.isIntegralNumber() || !value.canConvertToLong()) {
      throw new RefusedException(
          where + ": '" + field + "' must be a whole number below 2^63, not " + value);
    }
    return value.asLong();
  }

  /**
   * The plan that never cuts inside a block, or why there is none.
   *
   * @return the outcome
   */
  public PlanOutcome strict() {
    return geometry.plan(CutPolicy.NEVER_INSIDE_BLOCK);
  }

  /**
   * All answers as JSON.
   *
   * @return one object
   */
  public ObjectNode answer() {
    ObjectNode node = Console.json().createObjectNode().put("name", name);
    switch (strict()) {
      case RegistrationPlan plan -> {
        node.put("registrations", plan.registrations());
        cuts(plan, node.putArray("cuts"));
      }
      case PlanOutcome.Infeasible no -> {
        node.put("infeasibleAt", no.afterBytes()).put("reason", no.what());
        node.put("wouldWork", no.wouldWork());
      }
    }
    PageCuts pages = geometry.pageCutsOnly();
    node.putObject("pageCutsOnly")
        .put("registrations", pages.registrations())
        .put("straddlingBlocks", pages.straddlingBlocks());
    RegistrationPlan relaxed = geometry.plan(CutPolicy.INSIDE_BLOCK_IF_NEEDED).orThrow();
    ObjectNode normal = node.putObject("default").put("registrations", relaxed.registrations());
    cuts(relaxed, normal.putArray("cuts"));
    normal.put("straddlingBlocks", relaxed.straddlingBlocks());
    return node;
  }

  private static void cuts(RegistrationPlan plan, ArrayNode into) {
    plan.cuts().forEach(into::add);
  }

  /**
   * All answers for people.
   *
   * @return several lines
   */
  public String describe() {
    StringBuilder text = new StringBuilder(name).append('\n');
    switch (strict()) {
      case RegistrationPlan plan ->
          text.append("  never inside a block: ")
              .append(Wording.count(plan.registrations(), "registration"))
              .append(", the longest of ")
              .append(Wording.count(plan.longestCallBytes(), "byte"))
              .append(cuts(plan));
      case PlanOutcome.Infeasible no ->
          text.append("  never inside a block: infeasible: ")
              .append(no.what())
              .append(no.wouldWork().isEmpty() ? "" : "\n    would work: " + no.wouldWork());
    }
    RegistrationPlan relaxed = geometry.plan(CutPolicy.INSIDE_BLOCK_IF_NEEDED).orThrow();
    text.append("\n  default: ")
        .append(Wording.count(relaxed.registrations(), "registration"))
        .append(", ")
        .append(Wording.count(relaxed.straddlingBlocks(), "block"))
        .append(" over a cut")
        .append(cuts(relaxed));
    PageCuts pages = geometry.pageCutsOnly();
    return text.append("\n  page cuts only: ")
        .append(Wording.count(pages.registrations(), "registration"))
        .append(", ")
        .append(Wording.count(pages.straddlingBlocks(), "block"))
        .append(" over a cut\n")
        .toString();
  }

  private static String cuts(RegistrationPlan plan) {
    if (plan.registrations() == 1) {
      return "";
    }
    StringBuilder text = new StringBuilder(", cuts at");
    plan.cuts().limit(6).forEach(cut -> text.append(' ').append(cut));
    return text.append(plan.registrations() > 7 ? " ..." : "").toString();
  }
}
