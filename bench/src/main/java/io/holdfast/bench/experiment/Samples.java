package io.holdfast.bench.experiment;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** The same measurement several times: the median is the figure, the rest is its spread. */
final class Samples {
  private final List<Double> values = new ArrayList<>();

  void add(double value) {
    values.add(value);
  }

  void addAll(JsonNode array) {
    array.forEach(value -> values.add(value.asDouble()));
  }

  boolean isEmpty() {
    return values.isEmpty();
  }

  int count() {
    return values.size();
  }

  /** The middle one; of an even number the higher of the two. NaN when there is none. */
  double median() {
    if (values.isEmpty()) {
      return Double.NaN;
    }
    List<Double> sorted = new ArrayList<>(values);
    Collections.sort(sorted);
    return sorted.get(sorted.size() / 2);
  }

  /** A quarter of the values lie below it. */
  double lowerQuartile() {
    List<Double> sorted = new ArrayList<>(values);
    Collections.sort(sorted);
    return sorted.isEmpty() ? Double.NaN : sorted.get(sorted.size() / 4);
  }

  double least() {
    return values.stream().mapToDouble(value -> value).min().orElse(Double.NaN);
  }

  double most() {
    return values.stream().mapToDouble(value -> value).max().orElse(Double.NaN);
  }

  /** The same as rates: an amount for each value. */
  Samples ratesOf(double amount) {
    Samples rates = new Samples();
    values.forEach(value -> rates.add(amount / value));
    return rates;
  }

  /** Puts all values, the median and the ends under names that begin with the key. */
  void into(ObjectNode node, String key) {
    ObjectNode own = node.putObject(key);
    own.put("median", median()).put("least", least()).put("most", most());
    values.forEach(own.putArray("all")::add);
  }
}
