package io.holdfast.internal.pin;

import static io.holdfast.internal.pin.Bench.BASE;
import static io.holdfast.internal.pin.Bench.GIB;
import static io.holdfast.internal.pin.Bench.MIB;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.internal.pin.FakeDriver.Call;
import io.holdfast.pin.PinException;
import io.holdfast.pin.PinPacing;
import io.holdfast.pin.PinRequest;
import io.holdfast.pin.PinnedRegion;
import io.holdfast.pin.QuarantinedRange;
import io.holdfast.spi.Traits;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** In every scenario each driver call fails once: nothing leaks, nothing is stale, errors fit. */
class FaultSweepTest {
  private static final Traits PER_RANGE =
      new Traits(
          Traits.PinModel.HARD,
          List.of(),
          Long.MAX_VALUE,
          Long.MAX_VALUE,
          Traits.Alias.PER_RANGE,
          Set.of());

  /** What a user does; every error that reaches the user is handed over. */
  enum Scenario {
    OPEN {
      @Override
      void run(Bench bench, Errors errors) {
        errors.of(
            () -> {
              PinnedRegion pinned = bench.pinner().pin(region(BASE), PinRequest.strict());
              errors.of(pinned::close);
            });
      }
    },
    OPEN_IN_BACKGROUND {
      @Override
      void run(Bench bench, Errors errors) {
        PinnedRegion pinned =
            bench
                .pinner()
                .pinInBackground(region(BASE), PinRequest.strict().pacing(PinPacing.flatOut()));
        errors.of(() -> pinned.ready().join());
        errors.of(pinned::close);
      }
    },
    CANCEL {
      @Override
      void run(Bench bench, Errors errors) {
        AtomicInteger calls = new AtomicInteger();
        CountDownLatch known = new CountDownLatch(1);
        PinnedRegion[] pinned = new PinnedRegion[1];
        bench.driver.before =
            _ -> {
              Bench.await(known);
              if (calls.incrementAndGet() == 5) {
                pinned[0].cancel();
              }
            };
        pinned[0] =
            bench
                .pinner()
                .pinInBackground(region(BASE), PinRequest.strict().pacing(PinPacing.flatOut()));
        known.countDown();
        errors.of(() -> pinned[0].ready().join());
        errors.of(pinned[0]::close);
      }
    },
    CLOSE_MEANWHILE {
      @Override
      void run(Bench bench, Errors errors) {
        AtomicInteger calls = new AtomicInteger();
        CountDownLatch third = new CountDownLatch(1);
        bench.driver.before =
            _ -> {
              if (calls.incrementAndGet() == 3) {
                third.countDown();
              }
            };
        PinnedRegion pinned =
            bench
                .pinner()
                .pinInBackground(region(BASE), PinRequest.strict().pacing(PinPacing.flatOut()));
        var _ = pinned.ready().whenComplete((_, _) -> third.countDown());
        Bench.await(third);
        errors.of(pinned::close);
        errors.of(() -> pinned.ready().join());
      }
    },
    CLOSE_THE_REGION {
      @Override
      void run(Bench bench, Errors errors) {
        FakeRegion region = region(BASE);
        errors.of(() -> bench.pinner().pin(region, PinRequest.strict()));
        errors.of(region::close);
        assertTrue(region.unmapped);
      }
    },
    OPEN_TWICE {
      @Override
      void run(Bench bench, Errors errors) {
        FakeRegion first = region(BASE);
        FakeRegion beside = region(BASE + GIB);
        errors.of(() -> bench.pinner().pin(first, PinRequest.strict()));
        errors.of(() -> bench.pinner().pin(beside, PinRequest.strict()));
        errors.of(beside::close);
        errors.of(first::close);
      }
    },
    KEEP_WHAT_WORKED {
      @Override
      void run(Bench bench, Errors errors) {
        PinnedRegion pinned =
            bench
                .pinner()
                .pin(
                    region(BASE),
                    PinRequest.strict().onFailure(PinRequest.OnFailure.KEEP_WHAT_WORKED));
        errors.of(() -> pinned.ready().join());
        errors.of(pinned::close);
      }
    };

    abstract void run(Bench bench, Errors errors);

    FakeRegion region(long address) {
      return FakeRegion.of(address, GIB);
    }
  }

  /** What reached the user. */
  static final class Errors {
    private final List<Throwable> seen = new ArrayList<>();

    void of(Runnable step) {
      try {
        step.run();
      } catch (CompletionException wrapped) {
        seen.add(wrapped.getCause());
      } catch (RuntimeException error) {
        seen.add(error);
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void theKthCallFails(Scenario scenario) {
    int calls = run(scenario, -1, 2);
    assertTrue(calls >= 4, calls + " calls");
    for (int k = 0; k < calls; k++) {
      run(scenario, k, 2);
      run(scenario, k, 1);
      run(scenario, k, 713);
      run(scenario, k, 700);
    }
  }

  private static int run(Scenario scenario, int k, int code) {
    Bench bench = new Bench();
    bench.driver.traits = PER_RANGE;
    bench.driver.aliasOffset = 1L << 44;
    Errors errors = new Errors();
    int calls;
    try (bench) {
      bench.driver.failAt(k, code);
      scenario.run(bench, errors);
      calls = bench.driver.callsSinceFailAt();
      bench.driver.failAt(-1, 0);
      List<QuarantinedRange> quarantine = bench.pinner().quarantine();
      assertEquals(
          bench.driver.registeredBytes(),
          quarantine.stream().mapToLong(QuarantinedRange::registeredBytes).sum(),
          () -> scenario + ", call " + k + ": what is registered is what is in quarantine");
      assertEquals(bench.driver.registeredBytes(), bench.desk().pinnedBytes());
      String where = scenario + ", call " + k + " answers " + code + ": " + errors.seen;
      Call failed = k >= 0 && k < bench.driver.calls.size() ? bench.driver.calls.get(k) : null;
      if (failed != null) {
        boolean undone = failed.name().equals("unregister");
        assertEquals(undone ? 1 : 0, quarantine.size(), where);
        check(scenario, errors, failed, code, where);
      }
      assertEquals(List.of(), bench.pinner().retryQuarantine(), where);
    }
    bench.assertNothingLeft();
    assertEquals(0, bench.driver.openPorts.get());
    return calls;
  }

  private static void check(Scenario scenario, Errors errors, Call failed, int code, String where) {
    boolean undone = failed.name().equals("unregister");
    List<PinException> seen =
        errors.seen.stream().map(error -> (PinException) error).toList(); // and nothing else
    List<PinException> ofDriver = seen.stream().filter(e -> e.driver().isPresent()).toList();
    if (scenario != Scenario.CANCEL && scenario != Scenario.CLOSE_MEANWHILE) {
      assertTrue(!ofDriver.isEmpty(), where);
    }
    for (PinException error : ofDriver) {
      assertEquals(code, error.driver().orElseThrow().code(), where);
      assertEquals(
          undone ? PinException.Reason.STILL_PINNED : PinException.Reason.DRIVER_REFUSED,
          error.reason(),
          where);
      assertEquals((failed.address() - BASE) % GIB, error.offsetBytes(), where);
      assertEquals(256 * MIB, error.bytes(), where);
    }
  }
}
