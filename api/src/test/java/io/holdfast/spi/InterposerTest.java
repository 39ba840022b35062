package io.holdfast.spi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.holdfast.Backend;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

final class InterposerTest {
  /** A driver without devices that says who stands before it. */
  private record Named(String version) implements AcceleratorDriver {
    @Override
    public List<DeviceFacts> devices() {
      return List.of();
    }

    @Override
    public DevicePort open(int ordinal) {
      throw new IndexOutOfBoundsException(ordinal);
    }

    @Override
    public DevicePort openOn(int ordinal, long contextHandle) {
      throw new IndexOutOfBoundsException(ordinal);
    }

    @Override
    public void close() {}
  }

  private static Interposer before(String name) {
    return new Interposer() {
      @Override
      public AcceleratorDriver driver(AcceleratorDriver driver) {
        return new Named(name + " before " + driver.version());
      }
    };
  }

  private static Backend build() {
    return StandardBackend.over("none", new Named("driver"));
  }

  @Test
  void the_inner_one_is_nearer_the_driver() {
    try (Backend backend =
        StandardBackend.interposing(
            before("outer"),
            () -> StandardBackend.interposing(before("inner"), InterposerTest::build))) {
      assertEquals("outer before inner before driver", backend.version());
    }
  }

  @Test
  void nobody_stands_there_afterwards_or_on_another_thread() throws InterruptedException {
    List<String> elsewhere = new ArrayList<>();
    StandardBackend.interposing(before("mine"), InterposerTest::build).close();
    try (Backend after = build()) {
      assertEquals("driver", after.version());
    }
    StandardBackend.interposing(
        before("mine"),
        () -> {
          Thread other =
              Thread.ofPlatform()
                  .start(
                      () -> {
                        try (Backend backend = build()) {
                          elsewhere.add(backend.version());
                        }
                      });
          try {
            other.join();
          } catch (InterruptedException stopped) {
            throw new IllegalStateException(stopped);
          }
          return other;
        });
    assertEquals(List.of("driver"), elsewhere);
  }

  @Test
  void the_kernel_is_passed_through_too() {
    List<HostKernel> seen = new ArrayList<>();
    HostKernel own = HostKernels.portable();
    Interposer looking =
        new Interposer() {
          @Override
          public HostKernel kernel(HostKernel kernel) {
            seen.add(kernel);
            return kernel;
          }
        };
    StandardBackend.interposing(
            looking, () -> StandardBackend.builder("none", new Named("driver")).kernel(own).build())
        .close();
    assertSame(own, seen.getFirst());
  }

  @Test
  void what_opening_throws_comes_through() {
    assertThrows(
        IllegalStateException.class,
        () ->
            StandardBackend.interposing(
                before("mine"),
                () -> {
                  throw new IllegalStateException("no backend today");
                }));
  }
}
