package io.holdfast.bench.run;

import java.util.List;
import java.util.Map;

/** One thing that runs on its own, and again when a run that was cut short is taken up. */
public sealed interface Item {
  /**
   * Its name in a run.
   *
   * @return unique in a plan
   */
  String id();

  /**
   * What a person reads while it runs.
   *
   * @return a few words
   */
  String title();

  /**
   * How long it should take.
   *
   * @return seconds
   */
  double seconds();

  /**
   * One benchmark with one value for each of its parameters, in processes of its own.
   *
   * @param id unique
   * @param title for people
   * @param benchmark class and method, the end of the qualified name
   * @param parameters by name; what is not named keeps its default
   * @param effort how often it is measured
   * @param seconds that it should take
   */
  record Benchmark(
      String id,
      String title,
      String benchmark,
      Map<String, String> parameters,
      Effort effort,
      double seconds)
      implements Item {
    /** Keeps a copy. */
    public Benchmark {
      parameters = Map.copyOf(parameters);
    }
  }

  /**
   * A measurement that takes turns with the yardsticks, by a command of its own.
   *
   * @param id unique
   * @param title for people
   * @param arguments of the holdfast command; it writes a JSON object a line
   * @param seconds that it should take
   */
  record Experiment(String id, String title, List<String> arguments, double seconds)
      implements Item {
    /** Keeps a copy. */
    public Experiment {
      arguments = List.copyOf(arguments);
    }
  }

  /**
   * How often a benchmark is measured.
   *
   * @param forks processes, one after another
   * @param warmups iterations that do not count
   * @param iterations that do
   * @param millis of each; of a single shot as long as it takes
   */
  record Effort(int forks, int warmups, int iterations, int millis) {
    /** Seconds with about so much around each process. */
    double seconds(double around) {
      return forks * (around + (warmups + iterations) * millis / 1000.0);
    }
  }
}
