package io.holdfast.bench.experiment;

import io.holdfast.bench.tool.RefusedException;
import io.holdfast.host.PageKind;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/** The kernel's pool of one HugeTLB size, made large enough and put back as it was. */
final class HugePool implements AutoCloseable {
  private final Path knob;
  private final long before;
  private final boolean changed;

  private HugePool(Path knob, long before, boolean changed) {
    this.knob = knob;
    this.before = before;
    this.changed = changed;
  }

  /** Nothing happens for pages without a pool, or where enough are free. */
  static HugePool with(PageKind pages, long bytes) {
    if (!(pages instanceof PageKind.HugeTlb huge)) {
      return new HugePool(Path.of("/"), 0, false);
    }
    Path pool = Path.of("/sys/kernel/mm/hugepages/hugepages-" + huge.pageBytes() / 1024 + "kB");
    Path knob = pool.resolve("nr_hugepages");
    long needed = Math.ceilDiv(bytes, huge.pageBytes());
    long free = read(pool.resolve("free_hugepages"));
    long all = read(knob);
    if (free >= needed) {
      return new HugePool(knob, all, false);
    }
    write(knob, all - free + needed);
    long got = read(pool.resolve("free_hugepages"));
    if (got < needed) {
      write(knob, all);
      throw new RefusedException(
          "only %d of %d pages of %d bytes could be had; make room and try again"
              .formatted(got, needed, huge.pageBytes()));
    }
    return new HugePool(knob, all, true);
  }

  static long read(Path file) {
    try {
      return Long.parseLong(Files.readString(file, StandardCharsets.UTF_8).strip());
    } catch (IOException failure) {
      throw new UncheckedIOException("cannot read " + file, failure);
    }
  }

  private static void write(Path file, long value) {
    try {
      Files.writeString(file, Long.toString(value), StandardCharsets.UTF_8);
    } catch (IOException failure) {
      throw new RefusedException(
          "cannot write " + value + " to " + file + ": " + failure.getMessage());
    }
  }

  @Override
  public void close() {
    if (changed) {
      write(knob, before);
    }
  }
}
