package io.holdfast.conformance.vm;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.holdfast.Backend;
import io.holdfast.BackendKind;
import io.holdfast.spi.AcceleratorDriver;
import io.holdfast.spi.DeviceFacts;
import io.holdfast.spi.DevicePort;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.HostKernels;
import io.holdfast.spi.StandardBackend;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.stream.Stream;

/**
 * The machine, seen from inside: nodes 0 and 1 with a CPU each, node 2 with memory alone; a PCI
 * device on node 1; one page of 1 GiB on each node with CPUs.
 */
final class Guest {
  static final long MIB = 1L << 20;
  static final long HUGE = 2 * MIB;
  static final long GIANT = 1024 * MIB;

  private static final Path PCI = Path.of("/sys/bus/pci/devices");

  private Guest() {}

  /** A backend whose devices stand where a test can want one, with this machine's kernel. */
  static Backend backend() {
    return backend(HostKernels.system());
  }

  static Backend backend(HostKernel kernel) {
    return StandardBackend.builder("guest", new Devices())
        .kind(BackendKind.SIMULATOR)
        .kernel(kernel)
        .build();
  }

  /** Whether this kernel interleaves by weight (Linux 6.9). */
  static boolean hasWeights() {
    return Files.exists(weight(0));
  }

  static Path weight(int node) {
    return Path.of("/sys/kernel/mm/mempolicy/weighted_interleave/node" + node);
  }

  static Path pool(int node, long pageBytes) {
    return Path.of(
        "/sys/devices/system/node/node"
            + node
            + "/hugepages/hugepages-"
            + (pageBytes >> 10)
            + "kB/nr_hugepages");
  }

  /** Sets the pool of 2 MiB pages of every node with CPUs. */
  static void pools(long onNode0, long onNode1) {
    write(pool(0, HUGE), onNode0);
    write(pool(1, HUGE), onNode1);
    assertEquals(List.of(onNode0, onNode1), List.of(free(0, HUGE), free(1, HUGE)), "pools");
  }

  static long free(int node, long pageBytes) {
    return Long.parseLong(read(pool(node, pageBytes).resolveSibling("free_hugepages")));
  }

  static String read(Path file) {
    try {
      return Files.readString(file).strip();
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    }
  }

  static void write(Path file, Object value) {
    try {
      Files.writeString(file, value.toString());
    } catch (IOException refused) {
      throw new UncheckedIOException("writing " + value + " to " + file, refused);
    }
  }

  /** On a thread of its own, whose policy and CPUs the work may change. */
  static <T> T apart(Callable<T> work) throws Exception {
    FutureTask<T> task = new FutureTask<>(work);
    Thread thread = Thread.ofPlatform().start(task);
    try {
      return task.get();
    } catch (ExecutionException failed) {
      switch (failed.getCause()) {
        case Exception exception -> throw exception;
        case Error error -> throw error;
        case null, default -> throw failed;
      }
    } finally {
      thread.join();
    }
  }

  /** On a thread that runs on one CPU, hence on the node of that number. */
  static <T> T onCpu(int cpu, Callable<T> work) throws Exception {
    return apart(
        () -> {
          Calls.runOn(1L << cpu);
          return work.call();
        });
  }

  /** A real PCI address on that node. */
  private static String pciAddressOnNode1() {
    try (Stream<Path> devices = Files.list(PCI)) {
      return devices
          .filter(device -> read(device.resolve("numa_node")).equals("1"))
          .map(device -> device.getFileName().toString())
          .sorted()
          .findFirst()
          .orElseThrow();
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    }
  }

  /** Device 0 hangs on node 1, device 1 has node 2 as its own memory, of device 2 nobody knows. */
  private static final class Devices implements AcceleratorDriver {
    @Override
    public String version() {
      return "none";
    }

    @Override
    public List<DeviceFacts> devices() {
      return List.of(
          new DeviceFacts(0, "far", "", pciAddressOnNode1(), 1, OptionalInt.empty()),
          new DeviceFacts(1, "own memory", "", "", 1, OptionalInt.of(2)),
          new DeviceFacts(2, "unknown", "", "0000:00:01.0", 1, OptionalInt.empty()));
    }

    @Override
    public DevicePort open(int ordinal) {
      throw new IllegalArgumentException("device " + ordinal + " cannot be opened");
    }

    @Override
    public DevicePort openOn(int ordinal, long contextHandle) {
      return open(ordinal);
    }

    @Override
    public void close() {}
  }
}
