package io.holdfast.conformance.vm;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.engine.support.descriptor.ClassSource;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/**
 * Runs test classes inside the machine and writes a line for each begin and end, at once, so that a
 * crash shows where it was. Arguments: the file, the names of the classes.
 */
final class GuestMain {
  private GuestMain() {}

  public static void main(String[] arguments) throws Exception {
    LauncherDiscoveryRequest request =
        LauncherDiscoveryRequestBuilder.request()
            .selectors(
                Arrays.stream(arguments).skip(1).map(DiscoverySelectors::selectClass).toList())
            .build();
    Results results = new Results(Path.of(arguments[0]));
    LauncherFactory.create().execute(request, results);
    results.write("end", "", "", "");
  }

  /** The command that starts a main class with what this process has. */
  static List<String> java(Class<?> main, String... arguments) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(
        List.of(
            "-Xmx256m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "--enable-native-access=ALL-UNNAMED",
            "-cp",
            System.getProperty("java.class.path"),
            main.getName()));
    command.addAll(List.of(arguments));
    return command;
  }

  private static final class Results implements TestExecutionListener {
    private final Path file;
    private long begun;

    Results(Path file) {
      this.file = file;
    }

    synchronized void write(String what, String type, String name, String text) {
      String line =
          String.join(
              "\t",
              what,
              type,
              name.replace('\t', ' '),
              Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8)),
              Duration.ofNanos(System.nanoTime() - begun).toString());
      try {
        Files.writeString(file, line + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
      } catch (IOException unwritable) {
        throw new UncheckedIOException(unwritable);
      }
    }

    @Override
    public void executionSkipped(TestIdentifier test, String reason) {
      write("ABORTED", type(test), name(test), reason);
    }

    @Override
    public void executionStarted(TestIdentifier test) {
      if (test.isTest()) {
        begun = System.nanoTime();
        write("begin", type(test), name(test), "");
      }
    }

    @Override
    public void executionFinished(TestIdentifier test, TestExecutionResult result) {
      // Of what holds tests only a failure counts: the tests in it speak for themselves.
      if (test.isTest() || result.getStatus() != TestExecutionResult.Status.SUCCESSFUL) {
        write(
            result.getStatus().name(),
            type(test),
            name(test),
            result.getThrowable().map(Results::text).orElse(""));
      }
    }

    private static String name(TestIdentifier test) {
      return test.getSource()
          .filter(MethodSource.class::isInstance)
          .map(source -> ((MethodSource) source).getMethodName())
          .filter(method -> !test.getDisplayName().startsWith(method))
          .map(method -> method + " " + test.getDisplayName())
          .orElse(test.getDisplayName());
    }

    private static String type(TestIdentifier test) {
      return test.getSource()
          .map(
              source ->
                  switch (source) {
                    case MethodSource method -> method.getClassName();
                    case ClassSource type -> type.getClassName();
                    default -> source.toString();
                  })
          .orElse("");
    }

    private static String text(Throwable failure) {
      StringBuilder text = new StringBuilder(failure.toString());
      for (StackTraceElement at : failure.getStackTrace()) {
        if (at.getClassName().startsWith("io.holdfast")) {
          text.append("\n  at ").append(at);
        }
      }
      for (Throwable suppressed : failure.getSuppressed()) {
        text.append("\nsuppressed: ").append(suppressed);
      }
      return failure.getCause() == null
          ? text.toString()
          : text + "\ncaused by " + text(failure.getCause());
    }
  }
}
