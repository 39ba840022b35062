package io.holdfast.backend.cpusim;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.Backend;
import io.holdfast.Backends;
import io.holdfast.Device;
import io.holdfast.copy.BlockCopies;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.device.Order;
import io.holdfast.host.HostRequest;
import io.holdfast.layout.BlockShape;
import io.holdfast.pool.HostPool;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Many virtual threads copy while a platform thread keeps the simulated host busy, with a single
 * carrier, as in a container of one CPU: whoever let go of it inside a driver call would never get
 * it back.
 */
@Timeout(120)
final class VirtualThreadsTest {
  @ParameterizedTest
  @ValueSource(strings = {"cpu-sim", "cpu-sim:h200", "cpu-sim:gb200", "cpu-sim:wsl2"})
  void copies_of_virtual_threads_end_on_one_carrier(String backend) throws Exception {
    String words =
        ChildJvm.run(List.of("-Djdk.virtualThreadScheduler.parallelism=1"), Child.class, backend);

    assertTrue(words.contains("all trips were made"), words);
  }

  /** What runs there. */
  static final class Child {
    private static final int THREADS = 24;
    private static final int TRIPS = 200;

    private Child() {}

    public static void main(String[] arguments) throws InterruptedException {
      BlockShape shape = BlockShape.of(2, 4096);
      AtomicBoolean goOn = new AtomicBoolean(true);
      try (Backend backend = Backends.select(arguments[0]);
          Device device = backend.open(0);
          HostPool pool =
              HostPool.open(
                  device,
                  DeviceBlocks.of(
                      device.memory().allocate(THREADS * shape.bytes()).segment(),
                      shape.blockMajor(THREADS)),
                  HostRequest.ofBytes(THREADS * shape.bytes()))) {
        Thread busy =
            Thread.ofPlatform()
                .start(
                    () -> {
                      while (goOn.get()) {
                        backend.pageSource().map(HostRequest.ofBytes(1 << 20)).close();
                      }
                    });
        List<Thread> copying = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
          int id = i;
          copying.add(Thread.ofVirtual().start(() -> copy(pool, id)));
        }
        for (Thread one : copying) {
          one.join();
        }
        goOn.set(false);
        busy.join();
      }
      System.out.println("all trips were made");
    }

    private static void copy(HostPool pool, int id) {
      BlockCopies pair = BlockCopies.device(id).host(id);
      for (int i = 0; i < TRIPS; i++) {
        pool.load(pair, Order.unordered()).await();
      }
    }
  }
}
