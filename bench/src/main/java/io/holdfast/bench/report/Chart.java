package io.holdfast.bench.report;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.bench.tool.Console;
import java.util.ArrayList;
import java.util.List;

/** A picture as data; the page's script draws it. */
final class Chart {
  /** How it is drawn. */
  enum Kind {
    /** Lines over a logarithmic axis. */
    CURVES,
    /** Horizontal bars by category. */
    BARS,
    /** Lines over percentiles, logarithmic both ways. */
    LATENCIES
  }

  /** What a series is, which decides its look. */
  enum Role {
    /** Holdfast. */
    OURS,
    /** Plain C, PyTorch and the like, measured in the same run. */
    YARDSTICK,
    /** What cannot be exceeded. */
    CEILING,
    /** From somewhere else. */
    PUBLISHED
  }

  /**
   * One point.
   *
   * @param x a number, or the category's index
   * @param y the figure with its spread
   */
  record Point(double x, Spread y) {}

  /**
   * Points that belong together.
   *
   * @param name in the legend
   * @param run index of the run, for the line's style
   * @param key what it is apart from the run, for the colour
   * @param role how it is drawn
   * @param points in order
   */
  record Series(String name, int run, String key, Role role, List<Point> points) {
    Series {
      points = List.copyOf(points);
    }
  }

  private final String id;
  private final String title;
  private final String note;
  private final Kind kind;
  private final String unit;
  private final String axis;
  private final List<String> categories;
  private final List<Series> series = new ArrayList<>();

  Chart(
      String id,
      String title,
      String note,
      Kind kind,
      String unit,
      String axis,
      List<String> categories) {
    this.id = id;
    this.title = title;
    this.note = note;
    this.kind = kind;
    this.unit = unit;
    this.axis = axis;
    this.categories = List.copyOf(categories);
  }

  void add(Series one) {
    if (!one.points().isEmpty()) {
      series.add(one);
    }
  }

  boolean isEmpty() {
    return series.stream().noneMatch(one -> one.role() == Role.OURS);
  }

  String id() {
    return id;
  }

  String title() {
    return title;
  }

  String note() {
    return note;
  }

  ObjectNode toJson() {
    ObjectNode node = Console.json().createObjectNode();
    node.put("id", id).put("title", title).put("kind", kind.name()).put("unit", unit);
    node.put("axis", axis);
    categories.forEach(node.putArray("categories")::add);
    ArrayNode all = node.putArray("series");
    for (Series one : series) {
      ObjectNode target = all.addObject();
      target.put("name", one.name()).put("run", one.run()).put("key", one.key());
      target.put("role", one.role().name());
      ArrayNode points = target.putArray("points");
      for (Point point : one.points()) {
        points
            .addArray()
            .add(point.x())
            .add(rounded(point.y().median()))
            .add(rounded(point.y().least()))
            .add(rounded(point.y().most()));
      }
    }
    return node;
  }

  /** Six digits that count: a page is read, not computed with. */
  private static double rounded(double value) {
    if (value == 0 || !Double.isFinite(value)) {
      return 0;
    }
    double scale = Math.pow(10, 5 - Math.floor(Math.log10(Math.abs(value))));
    return Math.round(value * scale) / scale;
  }
}
