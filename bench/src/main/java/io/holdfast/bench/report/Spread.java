package io.holdfast.bench.report;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.DoubleUnaryOperator;

/**
 * The same measurement several times.
 *
 * @param median the figure; of an even number the higher of the two in the middle
 * @param least the lowest
 * @param most the highest
 * @param count how many
 */
record Spread(double median, double least, double most, int count) {
  static Optional<Spread> of(List<Double> values) {
    List<Double> sorted = values.stream().filter(value -> Double.isFinite(value)).sorted().toList();
    return sorted.isEmpty()
        ? Optional.empty()
        : Optional.of(
            new Spread(
                sorted.get(sorted.size() / 2), sorted.getFirst(), sorted.getLast(), sorted.size()));
  }

  /** Of JMH's raw data, forks of iterations. */
  static Optional<Spread> ofRawData(JsonNode metric) {
    List<Double> values = new ArrayList<>();
    for (JsonNode fork : metric.path("rawData")) {
      fork.forEach(value -> values.add(value.asDouble(Double.NaN)));
    }
    if (values.isEmpty() && metric.path("score").isNumber()) {
      values.add(metric.path("score").asDouble());
    }
    return of(values);
  }

  /** Of an experiment's {@code {"median", "least", "most", "all"}}. */
  static Optional<Spread> ofSamples(JsonNode samples) {
    List<Double> values = new ArrayList<>();
    samples.path("all").forEach(value -> values.add(value.asDouble(Double.NaN)));
    return of(values);
  }

  /** Each value changed; a falling change swaps the ends. */
  Spread map(DoubleUnaryOperator change) {
    double a = change.applyAsDouble(least);
    double b = change.applyAsDouble(most);
    return new Spread(change.applyAsDouble(median), Math.min(a, b), Math.max(a, b), count);
  }

  /** The figure, and its ends where there are some. */
  String text() {
    return count == 1
        ? number(median)
        : number(median) + " (" + number(least) + "–" + number(most) + ")";
  }

  /** A size that a person chose: no digits behind the point that say nothing. */
  static String size(double value) {
    return value == Math.rint(value) ? String.format(Locale.ROOT, "%,.0f", value) : number(value);
  }

  /** Three digits that count, without an exponent. */
  static String number(double value) {
    double size = Math.abs(value);
    int decimals = size >= 100 || size == 0 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
    return size > 0 && size < 0.001
        ? String.format(Locale.ROOT, "%.2g", value)
        : String.format(Locale.ROOT, "%,." + decimals + "f", value);
  }
}
