package io.holdfast.bench.suite;

import io.holdfast.Backend;
import io.holdfast.Backends;
import io.holdfast.Device;
import io.holdfast.bench.tool.PageOption;
import io.holdfast.host.HostRegion;
import io.holdfast.host.HostRequest;
import io.holdfast.pin.PinPacing;
import io.holdfast.pin.PinRequest;
import io.holdfast.pin.PinnedRegion;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/** The phases of a start one by one, and of the end: populate, register, release, unmap. */
public class PhasesBenchmark {
  private PhasesBenchmark() {}

  /** What all phases share. */
  @BenchmarkMode(Mode.SingleShotTime)
  @OutputTimeUnit(TimeUnit.MILLISECONDS)
  @Warmup(iterations = 1)
  @Measurement(iterations = 5)
  @Fork(
      value = 1,
      jvmArgsAppend = {
        "--enable-native-access=ALL-UNNAMED",
        "--sun-misc-unsafe-memory-access=allow"
      })
  @State(Scope.Benchmark)
  public abstract static class Phase {
    /** Which backend. */
    @Param("cpu-sim")
    public String backendId = "";

    /** What backs the memory: base, thp, driver or a HugeTLB size. */
    @Param({"base", "thp"})
    public String pages = "";

    /** Size of the memory. */
    @Param("256")
    public long poolMib;

    Backend backend;
    Device device;
    HostRequest request;
    @Nullable HostRegion region;
    @Nullable PinnedRegion pinned;

    Phase() {}

    /** A device, nothing mapped. */
    @Setup(Level.Trial)
    public void openDevice() {
      backend = Backends.select(backendId);
      device = backend.open(0);
      request = HostRequest.ofBytes(poolMib << 20).pages(new PageOption().convert(pages));
    }

    /** Closes the backend. */
    @TearDown(Level.Trial)
    public void closeBackend() {
      backend.close();
    }

    HostRegion map() {
      HostRegion mapped = backend.pageSource().map(request);
      region = mapped;
      return mapped;
    }

    PinnedRegion pin(HostRegion mapped) {
      PinRequest flatOut = PinRequest.strict().pacing(PinPacing.flatOut());
      PinnedRegion all = device.pinner().pin(mapped, flatOut);
      pinned = all;
      return all;
    }

    HostRegion region() {
      HostRegion mapped = region;
      if (mapped == null) {
        throw new IllegalStateException("nothing is mapped");
      }
      return mapped;
    }

    /** Every page is there, and where it was pinned the driver has all of it. */
    @TearDown(Level.Invocation)
    public void verifyAndClose() {
      HostRegion mapped = region;
      PinnedRegion all = pinned;
      region = null;
      pinned = null;
      if (mapped != null) {
        try (mapped) {
          if (mapped.populatedBytes() != mapped.mappedBytes()) {
            throw new IllegalStateException("not all is populated");
          }
          if (all != null) {
            try (all) {
              if (all.registeredBytes() != mapped.mappedBytes()) {
                throw new IllegalStateException("not all is registered");
              }
            }
          }
        }
      }
    }
  }

  /** Mapping and making pages. */
  public static class Populate extends Phase {
    /** For JMH. */
    public Populate() {}

    /**
     * Maps and populates.
     *
     * @return the memory
     */
    @Benchmark
    public HostRegion populate() {
      return map();
    }
  }

  /** Registering pages that are there. */
  public static class Register extends Phase {
    /** For JMH. */
    public Register() {}

    /** Maps and populates beforehand. */
    @Setup(Level.Invocation)
    public void mapBefore() {
      map();
    }

    /**
     * Registers flat out.
     *
     * @return the pins
     */
    @Benchmark
    public PinnedRegion register() {
      return pin(region());
    }
  }

  /** Giving pins back. */
  public static class Release extends Phase {
    /** For JMH. */
    public Release() {}

    /** Maps and registers beforehand. */
    @Setup(Level.Invocation)
    public void pinBefore() {
      pin(map());
    }

    /** Unregisters flat out. */
    @Benchmark
    public void release() {
      PinnedRegion all = pinned;
      pinned = null;
      if (all != null) {
        all.closeFlatOut();
      }
    }
  }

  /** Giving memory back. */
  public static class Unmap extends Phase {
    /** For JMH. */
    public Unmap() {}

    /** Maps and populates beforehand. */
    @Setup(Level.Invocation)
    public void mapBefore() {
      map();
    }

    /** Unmaps. */
    @Benchmark
    public void unmap() {
      HostRegion mapped = region();
      region = null;
      mapped.close();
    }
  }
}
