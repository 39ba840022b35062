package io.holdfast.bench.experiment;

import io.holdfast.bench.tool.RefusedException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** The yardsticks' sources, compiled on this machine into a folder of their own. */
public final class NativeTools {
  /** System property: a folder with the sources, instead of those in the jar. */
  public static final String SOURCES_PROPERTY = "holdfast.yardstick.sources";

  private static final String RESOURCES = "/io/holdfast/bench/yardstick/";
  private static final List<String> SOURCES =
      List.of(
          "cuda_driver.h",
          "cuda_driver.c",
          "neighbour.h",
          "neighbour.c",
          "yardstick.c",
          "noop_libcuda.c",
          "copy_kernel.cu",
          "torch_pin.py");
  private static final List<String> FLAGS = List.of("-std=gnu11", "-O2", "-pthread");
  private static final long COMPILE_SECONDS = 120;

  private final Path folder;

  private NativeTools(Path folder) {
    this.folder = folder;
  }

  /**
   * Unpacks the sources.
   *
   * @return the tools, not compiled yet
   */
  public static NativeTools unpack() {
    try {
      Path folder = Files.createTempDirectory("holdfast-yardstick-");
      folder.toFile().deleteOnExit();
      for (String source : SOURCES) {
        Path target = folder.resolve(source);
        target.toFile().deleteOnExit();
        try (InputStream content = source(source)) {
          Files.copy(content, target, StandardCopyOption.REPLACE_EXISTING);
        }
      }
      return new NativeTools(folder);
    } catch (IOException failure) {
      throw new UncheckedIOException("cannot unpack the yardsticks", failure);
    }
  }

  private static InputStream source(String name) throws IOException {
    String sources = System.getProperty(SOURCES_PROPERTY);
    if (sources != null) {
      return Files.newInputStream(Path.of(sources, name));
    }
    InputStream inside = NativeTools.class.getResourceAsStream(RESOURCES + name);
    if (inside == null) {
      throw new IOException(
          "the jar has no " + RESOURCES + name + "; name a folder by -D" + SOURCES_PROPERTY);
    }
    return inside;
  }

  /**
   * A CUDA driver that does nothing, for what Holdfast itself spends on a call.
   *
   * @return the library
   * @throws RefusedException where there is no C compiler
   */
  public Path noopDriver() {
    return compiled("libcuda.so.1", List.of("noop_libcuda.c"), List.of("-shared", "-fPIC"));
  }

  /** The C program. */
  LineProcess yardstick(int ordinal) {
    Path program = compiled("yardstick", List.of("yardstick.c", "neighbour.c"), List.of());
    return new LineProcess(
        "the C yardstick", List.of(program.toString(), Integer.toString(ordinal)));
  }

  /** The library with an engine's other threads, loaded. */
  Neighbour neighbour(int ordinal) {
    return Neighbour.open(neighbourLibrary(), ordinal);
  }

  /** The library with an engine's other threads. */
  Path neighbourLibrary() {
    return compiled("libneighbour.so", List.of("neighbour.c"), List.of("-shared", "-fPIC"));
  }

  /** The kernels as PTX, where nvcc is. */
  Optional<Path> kernels() {
    Path ptx = folder.resolve("copy_kernel.ptx");
    if (!Files.exists(ptx)) {
      List<String> command =
          List.of(
              "nvcc", "-O3", "-ptx", "-arch=compute_75", "-o", ptx.toString(), "copy_kernel.cu");
      if (!run(command).isEmpty()) {
        return Optional.empty();
      }
      ptx.toFile().deleteOnExit();
    }
    return Optional.of(ptx);
  }

  /** PyTorch's pinned allocation, where python3 is. */
  Optional<LineProcess> torch() {
    if (!run(List.of("python3", "--version")).isEmpty()) {
      return Optional.empty();
    }
    return Optional.of(
        new LineProcess("PyTorch", List.of("python3", folder.resolve("torch_pin.py").toString())));
  }

  private Path compiled(String name, List<String> sources, List<String> more) {
    Path target = folder.resolve(name);
    if (!Files.exists(target)) {
      List<String> command = new ArrayList<>(List.of("cc"));
      command.addAll(FLAGS);
      command.addAll(more);
      command.addAll(List.of("-o", target.toString()));
      command.addAll(sources);
      command.addAll(List.of("cuda_driver.c", "-ldl"));
      String problem = run(command);
      if (!problem.isEmpty()) {
        throw new RefusedException("the yardstick " + name + " cannot be compiled: " + problem);
      }
      target.toFile().deleteOnExit();
    }
    return target;
  }

  /** Runs a program in the folder; empty when it ended well, else what is wrong. */
  private String run(List<String> command) {
    try {
      Path said = Files.createTempFile(folder, "said", ".txt");
      try {
        Process process =
            new ProcessBuilder(command)
                .directory(folder.toFile())
                .redirectErrorStream(true)
                .redirectOutput(said.toFile())
                .start();
        if (!process.waitFor(COMPILE_SECONDS, TimeUnit.SECONDS)) {
          process.destroyForcibly();
          return command.getFirst() + " takes longer than " + COMPILE_SECONDS + " s";
        }
        return process.exitValue() == 0
            ? ""
            : command.getFirst() + ": " + Files.readString(said, StandardCharsets.UTF_8).strip();
      } finally {
        Files.delete(said);
      }
    } catch (IOException failure) {
      return String.valueOf(failure.getMessage());
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
      return "interrupted";
    }
  }
}
