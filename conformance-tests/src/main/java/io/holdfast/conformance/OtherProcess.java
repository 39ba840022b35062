package io.holdfast.conformance;

import io.holdfast.Backend;
import io.holdfast.host.HostRequest;
import io.holdfast.host.PageSource;
import io.holdfast.host.SharedRegion;
import io.holdfast.host.SharedRequest;
import io.holdfast.spi.AcceleratorDriver;
import io.holdfast.spi.DeviceFacts;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.StandardBackend;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * Another process on the same host, started by this one. It has no device: what processes share is
 * host memory, and that needs none.
 */
final class OtherProcess {
  /** Longest wait for one to start, or to end. */
  static final Duration PATIENCE = Duration.ofSeconds(30);

  private OtherProcess() {}

  /** What the process does: one word to say what, and the name of what is shared. */
  public static void main(String[] arguments) throws IOException {
    BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    switch (arguments[0]) {
      case "share" -> share(arguments[1], in);
      case "wait" -> {
        try (Backend none = StandardBackend.over("none", new NoDevices())) {
          PageSource pages = none.pageSource();
          pages
              .share(
                  SharedRequest.named(arguments[1], 2, HostRequest.ofBytes(256 << 10))
                      .patience(Duration.ofMinutes(2)),
                  0)
              .close();
        }
      }
      default -> in.readLine();
    }
  }

  private static void share(String name, BufferedReader in) throws IOException {
    try (Backend none = StandardBackend.over("none", new NoDevices());
        SharedRegion mine =
            none.pageSource()
                .share(
                    SharedRequest.named(name, 2, HostRequest.ofBytes(256 << 10))
                        .patience(Duration.ofSeconds(20)),
                    1)) {
      mine.ready().join();
      mine.mine().segment().set(ValueLayout.JAVA_BYTE, 20, (byte) 42);
      in.readLine();
      System.out.println("seen " + mine.of(0).segment().get(ValueLayout.JAVA_BYTE, 10));
      System.out.flush();
      in.readLine();
    }
  }

  /** A driver without devices. */
  private static final class NoDevices implements AcceleratorDriver {
    @Override
    public String version() {
      return "none";
    }

    @Override
    public List<DeviceFacts> devices() {
      return List.of();
    }

    @Override
    public DevicePort open(int ordinal) {
      throw new IndexOutOfBoundsException("there is no device " + ordinal);
    }

    @Override
    public DevicePort openOn(int ordinal, long contextHandle) {
      throw new IndexOutOfBoundsException("there is no device " + ordinal);
    }

    @Override
    public void close() {}
  }

  /** Starts one on the same class path or module path. */
  static Process start(String what, String name) {
    String classPath =
        Stream.of(
                System.getProperty("java.class.path", ""),
                System.getProperty("jdk.module.path", ""))
            .filter(one -> !one.isEmpty())
            .reduce((one, other) -> one + File.pathSeparator + other)
            .orElse("");
    try {
      return new ProcessBuilder(
              Path.of(System.getProperty("java.home"), "bin", "java").toString(),
              "-XX:+UseSerialGC",
              "-XX:TieredStopAtLevel=1",
              "-Xshare:auto",
              "--enable-native-access=ALL-UNNAMED",
              "-cp",
              classPath,
              OtherProcess.class.getName(),
              what,
              name)
          .redirectError(ProcessBuilder.Redirect.INHERIT)
          .start();
    } catch (IOException failed) {
      throw new UncheckedIOException("no other process could be started", failed);
    }
  }

  static void say(Process process, String line) {
    OutputStream in = process.getOutputStream();
    try {
      in.write((line + "\n").getBytes(StandardCharsets.UTF_8));
      in.flush();
    } catch (IOException failed) {
      throw new UncheckedIOException("the other process hears nothing", failed);
    }
  }

  static String hear(Process process) {
    try {
      return String.valueOf(
          new BufferedReader(
                  new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))
              .readLine());
    } catch (IOException failed) {
      throw new UncheckedIOException("the other process says nothing", failed);
    }
  }

  /** Waits for its good end. */
  static void end(Process process) {
    gone(process);
    if (process.exitValue() != 0) {
      throw new AssertionError("the other process ended with " + process.exitValue());
    }
  }

  static void gone(Process process) {
    try {
      if (!process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
        throw new AssertionError("the other process does not end");
      }
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  static long filesOf(Path directory, String name) {
    return lengthsOf(directory, name).size();
  }

  /** More than 0 only once who shares them has locked them: before that they are nobody's. */
  static long bytesOf(Path directory, String name) {
    return lengthsOf(directory, name).stream().mapToLong(length -> length).sum();
  }

  private static List<Long> lengthsOf(Path directory, String name) {
    try (Stream<Path> files = Files.list(directory)) {
      return files
          .filter(file -> String.valueOf(file.getFileName()).contains(name))
          .map(file -> file.toFile().length()) // 0 where it is gone by now
          .toList();
    } catch (IOException failed) {
      throw new UncheckedIOException(directory.toString(), failed);
    }
  }
}
