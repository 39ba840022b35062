package io.holdfast.internal.host;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.holdfast.internal.host.Mounts.Mount;
import io.holdfast.spi.HostKernels;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** A cgroup for one test; closing removes it and switches its controller off again. */
final class TestCgroup implements AutoCloseable {
  private final Path folder;
  private final Optional<Path> switchedOn;
  private final String controller;

  private TestCgroup(Path folder, Optional<Path> switchedOn, String controller) {
    this.folder = folder;
    this.switchedOn = switchedOn;
    this.controller = controller;
  }

  /** Makes a group of a controller, version 2 where that has it, or skips the test. */
  static TestCgroup of(String controller) throws IOException {
    for (Mount mount : Mounts.of(HostKernels.system()).all()) {
      Path root = Path.of(mount.point());
      if (mount.type().equals("cgroup2") && lists(root, "cgroup.controllers", controller)) {
        return unified(root, controller);
      }
      if (mount.type().equals("cgroup") && mount.options().contains(controller)) {
        return new TestCgroup(make(root), Optional.empty(), controller);
      }
    }
    assumeTrue(false, "needs a cgroup with the controller " + controller);
    throw new AssertionError();
  }

  private static TestCgroup unified(Path root, String controller) throws IOException {
    Path control = root.resolve("cgroup.subtree_control");
    boolean on = lists(root, "cgroup.subtree_control", controller);
    if (!on) {
      try {
        Files.writeString(control, "+" + controller);
      } catch (IOException refused) {
        assumeTrue(false, "needs the right to switch " + controller + " on: " + refused);
      }
    }
    return new TestCgroup(make(root), on ? Optional.empty() : Optional.of(control), controller);
  }

  private static Path make(Path root) throws IOException {
    assumeTrue(Files.isWritable(root), "needs the right to make cgroups in " + root);
    return Files.createDirectory(root.resolve("holdfast-test-" + ProcessHandle.current().pid()));
  }

  private static boolean lists(Path folder, String file, String word) throws IOException {
    return List.of(Files.readString(folder.resolve(file)).strip().split(" ", -1)).contains(word);
  }

  /** Sets the file that this version of cgroups has. */
  void limit(String unifiedFile, String oldFile, long bytes) throws IOException {
    Path file = folder.resolve(unifiedFile);
    Files.writeString(Files.exists(file) ? file : folder.resolve(oldFile), Long.toString(bytes));
  }

  /** A command that enters the group and then becomes its arguments. */
  List<String> enter() {
    return List.of(
        "/bin/sh", "-c", "echo $$ > " + folder.resolve("cgroup.procs") + " && exec \"$@\"", "sh");
  }

  String name() {
    return folder.toString();
  }

  @Override
  public void close() throws IOException {
    Files.delete(folder);
    if (switchedOn.isPresent()) {
      Files.writeString(switchedOn.get(), "-" + controller);
    }
  }
}
