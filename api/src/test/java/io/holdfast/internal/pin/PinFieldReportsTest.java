package io.holdfast.internal.pin;

import static io.holdfast.internal.pin.Bench.BASE;
import static io.holdfast.internal.pin.Bench.GIB;
import static io.holdfast.internal.pin.Bench.MIB;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.device.DeviceSegment;
import io.holdfast.error.SettingException;
import io.holdfast.host.HostRequest;
import io.holdfast.host.PageKind;
import io.holdfast.internal.pin.FakeDriver.Call;
import io.holdfast.layout.BlockLayout;
import io.holdfast.layout.BlockShape;
import io.holdfast.pin.CutPolicy;
import io.holdfast.pin.NoPlanException;
import io.holdfast.pin.PinException;
import io.holdfast.pin.PinException.Reason;
import io.holdfast.pin.PinPacing;
import io.holdfast.pin.PinRequest;
import io.holdfast.pin.PinRequest.OnFailure;
import io.holdfast.pin.PinnedRange;
import io.holdfast.pin.PinnedRegion;
import io.holdfast.pin.Pinner;
import io.holdfast.pin.PlanOutcome;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.Traits;
import io.holdfast.spi.Traits.RegistrationBound;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * What broke for people who pin host memory, each with the right behaviour. Names begin with the
 * number of the report.
 */
class PinFieldReportsTest {
  private static final long PAGE = 4096;
  private static final long HUGE = 2L << 20;

  private final Bench bench = new Bench();

  @AfterEach
  void nothingIsLeft() {
    System.clearProperty(Pinner.BUDGET_PROPERTY);
    bench.close();
    bench.assertNothingLeft();
  }

  private PinnedRegion pin(FakeRegion region, PinRequest request) {
    return bench.pinner().pin(region, request);
  }

  private PinException refusal(FakeRegion region, PinRequest request) {
    return assertThrows(PinException.class, () -> pin(region, request));
  }

  private static void assertSays(PinException refused, String words) {
    String message = String.valueOf(refused.getMessage());
    assertTrue(message.contains(words), message);
  }

  private List<Long> lengths() {
    return bench.driver.calls("register").stream().map(Call::bytes).toList();
  }

  private static Traits traits(RegistrationBound... bounds) {
    return new Traits(
        Traits.PinModel.HARD,
        List.of(bounds),
        Long.MAX_VALUE,
        Long.MAX_VALUE,
        Traits.Alias.SAME_ADDRESS,
        Set.of());
  }

  private static PinRequest wholeCap() {
    return PinRequest.strict().sliceBytes(1L << 42);
  }

  @Test
  void b01NoCallReaches512GibAndTheTotalIsUnlimited() {
    bench.driver.mostPerCall = (1L << 39) - 1;
    bench.driver.refusal = FakeDriver.error("cuMemHostRegister", 2);
    long bytes = 600_000_000_000L;
    pin(FakeRegion.of(BASE, bytes), wholeCap());
    // 600,000,000,000 bytes are 146,484,375 whole base pages.
    assertEquals(List.of(274_877_906_944L, 274_877_906_944L, 50_244_186_112L), lengths());
  }

  @Test
  void b02TheLastRangeEndsAtTheBackingPageNotAtTheLogicalByte() {
    bench.driver.before =
        call -> {
          if (call.bytes() % HUGE != 0 || call.address() % HUGE != 0) {
            throw FakeDriver.error(call.name(), 1);
          }
        };
    PinnedRegion pinned = pin(FakeRegion.of(BASE, 1_073_676_288, HUGE), wholeCap());
    assertEquals(List.of(1_073_741_824L), lengths());
    assertEquals(1_073_741_824L, pinned.registeredBytes());
    assertEquals(1_073_676_288L, pinned.memory().logicalBytes());
  }

  @Test
  void b03CutsLieBetweenBlocks() {
    BlockLayout layout = BlockShape.of(1, 73_728).layerMajor(32);
    PinnedRegion pinned =
        pin(
            FakeRegion.of(BASE, 73_728 * 32, 64 << 10),
            PinRequest.strict().around(layout).capBytes(MIB).cuts(CutPolicy.NEVER_INSIDE_BLOCK));
    assertEquals(List.of(589_824L, 589_824L, 589_824L, 589_824L), lengths());
    HostAddresses addresses = ((PinnedMemory) pinned).addressesOn(bench.device);
    // Block 7 fits into the first registration; what begins half a block later would cross its end.
    assertEquals(589_824, addresses.endOfRange(516_096));
    assertEquals(589_824, addresses.endOfRange(552_960));
    assertEquals(1_179_648, addresses.endOfRange(589_824));
  }

  @Test
  void b04NoCommonCutUnderTheCapIsATypedErrorAndOneCallWhereThatIsEnough() {
    long blocks = 9 * GIB / 73_728;
    BlockLayout layout = BlockShape.of(1, 73_728).layerMajor(blocks);
    FakeRegion region = FakeRegion.of(BASE, 9 * GIB, GIB);
    PinRequest never = PinRequest.strict().around(layout).cuts(CutPolicy.NEVER_INSIDE_BLOCK);
    NoPlanException none =
        assertThrows(NoPlanException.class, () -> pin(region, never.capBytes(GIB)));
    assertEquals(9_663_676_416L, none.why().unitBytes());
    assertEquals(PlanOutcome.Reason.UNIT_EXCEEDS_CAP, none.why().reason());
    assertEquals(0, bench.driver.calls.size());
    pin(region, never.capBytes(9 * GIB)).close();
    assertEquals(List.of(9 * GIB), lengths());
  }

  @Test
  void b04TheFurthestCutIsAWholeNumberOfUnits() {
    long bytes = 300 * GIB;
    BlockLayout layout = BlockShape.of(1, 73_728).layerMajor(bytes / 73_728);
    PinRequest never = PinRequest.strict().around(layout).cuts(CutPolicy.NEVER_INSIDE_BLOCK);
    pin(FakeRegion.of(BASE, bytes, GIB), never);
    assertEquals(List.of(270_582_939_648L, bytes - 270_582_939_648L), lengths());
  }

  @Test
  void b05ARefusalIsNeverReportedAsPinned() {
    bench.driver.failAt(0, 2);
    PinnedRegion pinned =
        pin(FakeRegion.of(BASE, GIB), PinRequest.strict().onFailure(OnFailure.KEEP_WHAT_WORKED));
    assertEquals(0, pinned.registeredBytes());
    assertEquals(0, pinned.watermarkBytes());
    CompletionException failed =
        assertThrows(CompletionException.class, () -> pinned.ready().join());
    assertEquals(
        2, assertInstanceOf(PinException.class, failed.getCause()).driver().orElseThrow().code());
    pinned.close();
  }

  @Test
  void b20MappedIsRegisteredAndLogicalIsShown() {
    PinnedRegion pinned = pin(FakeRegion.of(BASE, 3_779_571_220L, HUGE), PinRequest.strict());
    assertEquals(3_781_165_056L, pinned.memory().mappedBytes());
    assertEquals(3_781_165_056L, pinned.registeredBytes());
    assertEquals(3_779_571_220L, pinned.memory().segment().byteSize());
    BlockLayout beyond = BlockShape.of(1, 3_781_165_056L).layerMajor(1);
    assertThrows(IllegalArgumentException.class, () -> pinned.blocks(beyond));
  }

  @Test
  void b26OthersWaitNoLongerThanOneCallAndCancelLeavesWhatWasDone() {
    bench.driver.registerNanos = range -> range.byteSize() / GIB * 10_000_000;
    CountDownLatch known = new CountDownLatch(1);
    AtomicReference<PinnedRegion> itself = new AtomicReference<>();
    bench.driver.before =
        call -> {
          Bench.await(known);
          if (call.name().equals("register") && call.address() == BASE + 4 * GIB) {
            itself.get().cancel();
          }
        };
    PinRequest request =
        PinRequest.strict()
            .sliceBytes(GIB)
            .pacing(PinPacing.flatOut().between(Duration.ofMillis(1)));
    PinnedRegion pinned = bench.pinner().pinInBackground(FakeRegion.of(BASE, 16 * GIB), request);
    itself.set(pinned);
    known.countDown();
    assertThrows(CompletionException.class, () -> pinned.ready().join());
    List<Call> calls = bench.driver.calls("register");
    assertEquals(5, calls.size());
    assertEquals(11_000_000, calls.get(1).atNanos() - calls.get(0).atNanos());
    assertEquals(10_000_000, pinned.receipt().longestCallNanos());
    assertEquals(5 * GIB, bench.driver.registeredBytes());
    pinned.close();
    assertEquals(0, bench.driver.registeredBytes());
  }

  @Test
  void b26PinningHoldsNoLockThatCopiesNeed() {
    CountDownLatch inCall = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    bench.driver.before =
        call -> {
          if (call.name().equals("register") && call.address() > BASE) {
            inCall.countDown();
            Bench.await(goOn);
          }
        };
    PinnedMemory pinned =
        (PinnedMemory)
            bench
                .pinner()
                .pinInBackground(
                    FakeRegion.of(BASE, GIB), PinRequest.strict().pacing(PinPacing.flatOut()));
    Bench.await(inCall); // the driver is busy now
    pinned.awaitWatermark(256 * MIB);
    HostAddresses addresses = pinned.addressesOn(bench.device);
    assertEquals(BASE + 5, addresses.addressOf(5));
    assertEquals(256 * MIB, addresses.endOfRange(5));
    assertEquals(1, pinned.ranges().size());
    assertEquals(256 * MIB, pinned.receipt().longestPossibleCallBytes());
    goOn.countDown();
    pinned.ready().join();
  }

  @Test
  void b27NothingIsRoundedToAPowerOfTwo() {
    for (long bytes : new long[] {10 * GIB, 135_790_592}) {
      FakeRegion region = FakeRegion.of(BASE, bytes);
      try (PinnedRegion pinned = pin(region, PinRequest.strict())) {
        assertEquals(bytes, region.mappedBytes());
        assertEquals(bytes, pinned.registeredBytes());
      }
    }
  }

  @Test
  void b28KernelsThatCannotPin2GibGetLess() {
    long blocks = 5 * GIB / 73_728;
    BlockLayout layout = BlockShape.of(1, 73_728).layerMajor(blocks);
    for (String release : List.of("6.11.0", "6.12.10-cloud", "6.13.9")) {
      bench.kernel.identity = new HostKernel.Identity("Linux", release, "x86_64");
      bench.driver.calls.clear();
      PinnedRegion pinned = pin(FakeRegion.of(BASE, 5 * GIB), wholeCap().around(layout));
      assertEquals(List.of(2_147_475_456L, 2_147_475_456L), lengths().subList(0, 2));
      assertEquals(3, lengths().size());
      assertTrue(
          pinned.receipt().bounds().stream().anyMatch(b -> b.startsWith("linux-6.11-2gib:")));
      pinned.close();
    }
  }

  @Test
  void b28OtherKernelsAreNotRestrictedAndTheBoundCanBeIgnored() {
    for (String release : List.of("6.10.14", "6.14.0", "5.15.0", "7.12.1", "odd")) {
      bench.kernel.identity = new HostKernel.Identity("Linux", release, "x86_64");
      bench.driver.calls.clear();
      pin(FakeRegion.of(BASE, 5 * GIB), wholeCap()).close();
      assertEquals(List.of(5 * GIB), lengths(), release);
    }
    bench.kernel.identity = new HostKernel.Identity("Linux", "6.12.0", "x86_64");
    bench.driver.calls.clear();
    PinnedRegion pinned =
        pin(
            FakeRegion.of(BASE, 5 * GIB),
            wholeCap().ignoringBounds(Set.of("linux-6.11-2gib", "no-such-bound")));
    assertEquals(List.of(5 * GIB), lengths());
    List<String> bounds = pinned.receipt().bounds();
    assertTrue(bounds.stream().anyMatch(b -> b.contains("2gib") && b.endsWith("ignored")));
    assertTrue(bounds.contains("no-such-bound: ignored, but unknown here"));
  }

  @Test
  void b29OpenCloseOpenAtOneAddress() {
    for (int i = 0; i < 100; i++) {
      FakeRegion region = FakeRegion.of(BASE, 4 * MIB);
      pin(region, PinRequest.strict());
      region.close();
    }
    assertEquals(100, bench.driver.calls("register").size());
  }

  @Test
  void b29AForeignRegistrationIsReportedAndLeftAlone() {
    bench.driver.registerElsewhere(BASE + 512 * MIB, 4096);
    PinException foreign = refusal(FakeRegion.of(BASE, GIB), PinRequest.strict());
    assertEquals(Reason.REGISTERED_BY_OTHERS, foreign.reason());
    assertEquals(712, foreign.driver().orElseThrow().code());
    assertEquals(512 * MIB, foreign.offsetBytes());
    assertEquals(
        List.of(BASE + 256 * MIB, BASE),
        bench.driver.calls("unregister").stream().map(Call::address).toList());
    assertEquals(4096, bench.driver.registeredBytes());
    bench.driver.unregisterElsewhere(BASE + 512 * MIB);
  }

  @Test
  void b29HalvingDoesNotCreepUpOnAForeignRegistration() {
    bench.driver.registerElsewhere(BASE + 512 * MIB, 4096);
    PinException foreign =
        refusal(FakeRegion.of(BASE, GIB), PinRequest.strict().onFailure(OnFailure.HALVE));
    assertEquals(Reason.REGISTERED_BY_OTHERS, foreign.reason());
    assertEquals(3, bench.driver.calls("register").size());
    bench.driver.unregisterElsewhere(BASE + 512 * MIB);
  }

  @Test
  void b56HalvingIsExplicitBoundedAndVisible() {
    bench.driver.mostPerCall = 4 * GIB;
    long bytes = 34_760_392_704L;
    PinRequest request = PinRequest.strict().sliceBytes(32 * GIB).capBytes(32 * GIB);
    FakeRegion region = FakeRegion.of(BASE, bytes);
    PinException refused = refusal(region, request);
    assertEquals(0, refused.offsetBytes());
    assertEquals(32 * GIB, refused.bytes());
    assertEquals(1, refused.driver().orElseThrow().code());

    PinnedRegion pinned = pin(region, request.onFailure(OnFailure.HALVE));
    assertEquals(bytes, pinned.registeredBytes());
    assertTrue(pinned.ranges().stream().allMatch(range -> range.registeredBytes() <= 4 * GIB));
    assertEquals(3, pinned.receipt().notes().size());
    assertTrue(pinned.receipt().notes().getFirst().contains("trying at most " + 16 * GIB));
  }

  @Test
  void b56HalvingEndsAtThePage() {
    bench.driver.mostPerCall = 0;
    FakeRegion region = FakeRegion.of(BASE, 16 * HUGE, HUGE);
    PinException refused = refusal(region, PinRequest.strict().onFailure(OnFailure.HALVE));
    assertEquals(HUGE, refused.bytes());
    assertEquals(List.of(16 * HUGE, 8 * HUGE, 4 * HUGE, 2 * HUGE, HUGE), lengths());
  }

  @Test
  void b56HalvingEndsAtTheUnitOfBlocks() {
    bench.driver.mostPerCall = 0;
    BlockLayout layout = BlockShape.of(1, 73_728).layerMajor(64);
    FakeRegion region = FakeRegion.of(BASE, 64 * 73_728, PAGE);
    PinException refused =
        refusal(
            region,
            PinRequest.strict()
                .around(layout)
                .cuts(CutPolicy.NEVER_INSIDE_BLOCK)
                .onFailure(OnFailure.HALVE));
    assertEquals(73_728, refused.bytes());
  }

  @Test
  void b65UnregisteringIsByTheHostAddressOfTheRecord() {
    bench.driver.traits =
        new Traits(
            Traits.PinModel.HARD,
            List.of(),
            Long.MAX_VALUE,
            Long.MAX_VALUE,
            Traits.Alias.PER_RANGE,
            Set.of());
    bench.driver.aliasOffset = 0x1_0000_0000L;
    PinnedRegion pinned = pin(FakeRegion.of(BASE, GIB), PinRequest.strict());
    DeviceSegment seen = pinned.ranges().get(1).seenByDevice();
    assertEquals(BASE + 256 * MIB + 0x1_0000_0000L, seen.rawAddress());
    assertNotEquals(BASE + 256 * MIB, seen.rawAddress());
    pinned.close();
    assertEquals(0, bench.driver.registeredBytes());
    assertThrows(IllegalStateException.class, seen::rawAddress);
  }

  @Test
  void b66AReadOnlyMappingIsNamedInTheError() {
    bench.kernel.texts.put(
        "/proc/self/smaps",
        """
        6fff00000000-6fff00001000 rw-p 00000000 00:00 0
        VmFlags: rd wr mr mw me ac
        700000000000-700040000000 r--p 00000000 08:01 1234 /data/model.bin
        Size:            1048576 kB
        VmFlags: rd mr mw me
        """);
    bench.driver.failAt(0, 1);
    PinException refused = refusal(FakeRegion.of(BASE, GIB), PinRequest.strict());
    assertSays(refused, "the mapping is read-only");
    assertEquals(1, refused.driver().orElseThrow().code());
  }

  @Test
  void b68EachProcessRegistersItsSlice() {
    FakeRegion shared = FakeRegion.of(BASE, GIB);
    List<PinnedRegion> ranks = new ArrayList<>();
    for (int rank = 0; rank < 4; rank++) {
      ranks.add(
          bench.pinner().pin(shared.slice(rank * (256 * MIB), 256 * MIB), PinRequest.strict()));
    }
    assertEquals(GIB, bench.driver.registeredBytes());
    assertEquals(GIB, ranks.stream().mapToLong(PinnedRegion::registeredBytes).sum());
    assertEquals(BASE + 256 * MIB, ranks.get(1).ranges().getFirst().seenByDevice().rawAddress());
    assertEquals(0, ranks.get(1).ranges().getFirst().offsetBytes());
    shared.close();
    assertEquals(0, bench.driver.registeredBytes());
  }

  @Test
  void b68ABudgetIsCheckedAtPlanTime() {
    System.setProperty(Pinner.BUDGET_PROPERTY, Long.toString(GIB));
    PinnedRegion first = pin(FakeRegion.of(BASE, 768 * MIB), PinRequest.strict());
    int calls = bench.driver.calls.size();
    PinException over = refusal(FakeRegion.of(BASE + GIB, 512 * MIB), PinRequest.strict());
    assertEquals(Reason.HOST_BUDGET, over.reason());
    assertEquals(512 * MIB, over.bytes());
    assertEquals(calls, bench.driver.calls.size());
    pin(FakeRegion.of(BASE + GIB, 256 * MIB), PinRequest.strict()).close();
    first.close();
    pin(FakeRegion.of(BASE + GIB, GIB), PinRequest.strict()).close();
    System.setProperty(Pinner.BUDGET_PROPERTY, "lots");
    SettingException nonsense =
        assertThrows(
            SettingException.class, () -> pin(FakeRegion.of(BASE, GIB), PinRequest.strict()));
    assertEquals(Pinner.BUDGET_PROPERTY, nonsense.setting());
    assertEquals("lots", nonsense.value());
  }

  @Test
  void b69ASmallLockLimitIsToldWithTheRequestAndIsNoReasonToRefuse() {
    bench.kernel.lockLimit = OptionalLong.of(8 * MIB);
    pin(FakeRegion.of(BASE, GIB), PinRequest.strict()).close();
    bench.driver.failAt(0, 2);
    PinException refused = refusal(FakeRegion.of(BASE, GIB), wholeCap());
    assertSays(refused, String.valueOf(8 * MIB));
    assertSays(refused, String.valueOf(GIB));
    assertTrue(refused.remedy().contains("memlock"));
    assertEquals(OptionalLong.of(8 * MIB), refused.surroundings().orElseThrow().lockLimitBytes());
  }

  @Test
  void b70UnderWslStrictRollsBackAndBestEffortKeepsOneGib() {
    bench.kernel.identity =
        new HostKernel.Identity("Linux", "5.15.153.1-microsoft-standard-WSL2", "x86_64");
    bench.driver.mostInTotal = GIB;
    FakeRegion region = FakeRegion.of(BASE, 2 * GIB);
    PinException refused = refusal(region, PinRequest.strict());
    assertEquals(GIB, refused.surroundings().orElseThrow().pinnedBytes());
    assertEquals(GIB, refused.offsetBytes());
    assertEquals(0, bench.driver.registeredBytes());

    PinnedRegion pinned = pin(region, PinRequest.strict().onFailure(OnFailure.KEEP_WHAT_WORKED));
    assertEquals(GIB, pinned.registeredBytes());
    assertEquals(GIB, pinned.watermarkBytes());
    List<String> notes = pinned.receipt().notes();
    assertTrue(notes.getFirst().contains("WSL"));
    assertTrue(notes.getLast().startsWith("kept what worked"));
    PinnedMemory memory = (PinnedMemory) pinned;
    memory.awaitWatermark(GIB);
    PinException beyond = assertThrows(PinException.class, () -> memory.awaitWatermark(GIB + 1));
    assertEquals(2, beyond.driver().orElseThrow().code());
  }

  @Test
  void b78WriteCombinedIsNeverADefault() {
    PageKind.Driver memory = (PageKind.Driver) PageKind.driver();
    assertEquals(PageKind.Caching.NORMAL, memory.caching());
    assertEquals(PageKind.base(), HostRequest.ofBytes(1).pages());
  }

  @Test
  void b86ASliceIsWholePagesOrRefused() {
    FakeRegion region = FakeRegion.of(BASE, 4 * GIB, HUGE);
    PinnedRegion pinned = pin(region, PinRequest.strict().sliceBytes(1_073_741_825));
    assertEquals(List.of(GIB, GIB, GIB, GIB), lengths());
    assertTrue(pinned.receipt().notes().getFirst().contains("1073741824 are used"));
    pinned.close();
    assertThrows(
        IllegalArgumentException.class, () -> pin(region, PinRequest.strict().sliceBytes(4096)));
    assertThrows(IllegalArgumentException.class, () -> PinRequest.strict().sliceBytes(0));
  }

  @Test
  void b88ZeroBytesNeverReachTheDriver() {
    assertThrows(IllegalArgumentException.class, () -> HostRequest.ofBytes(0));
    pin(FakeRegion.of(BASE, 4096), PinRequest.strict());
    assertEquals(List.of(4096L), lengths());
  }

  @Test
  void b89ADevicesOwnMappingIsNamedWithItsCode() {
    bench.kernel.texts.put(
        "/proc/self/smaps",
        """
        700000000000-700040000000 rw-s 00000000 00:06 99 /dev/other
        Size:            1048576 kB
        VmFlags: rd wr sh mr mw me ms io pf dd
        """);
    bench.driver.failAt(0, 1);
    PinException refused = refusal(FakeRegion.of(BASE, GIB), PinRequest.strict());
    assertSays(refused, "a device's own");
    assertSays(refused, "answered 1");
  }

  @Test
  void b90TheMessageSaysWhichMemory() {
    bench.kernel.texts.put("/proc/meminfo", "MemTotal: 2000 kB\nMemAvailable:    1000 kB\n");
    pin(FakeRegion.of(BASE + 1000 * GIB, GIB), PinRequest.strict());
    bench.driver.failAt(0, 2);
    long bytes = 900_000 * MIB;
    PinException refused = refusal(FakeRegion.of(BASE, bytes), PinRequest.strict());
    PinException.Surroundings around = refused.surroundings().orElseThrow();
    assertEquals(GIB, around.pinnedBytes());
    assertEquals(OptionalLong.of(1_024_000), around.hostAvailableBytes());
    assertEquals(OptionalLong.of(79 * GIB), around.deviceFreeBytes());
    assertSays(refused, "host memory");
    assertSays(refused, "offset 0 of " + bytes);
    assertSays(refused, "1024000 bytes available");
    assertTrue(refused.remedy().contains("sliceBytes"), refused.remedy());
  }

  @Test
  void b96AKnownBadDriverGetsItsOwnBound() {
    bench.driver.traits =
        traits(new RegistrationBound("driver-590-4gib", (4L << 30) - 1, "faults at 4 GiB"));
    PinnedRegion pinned = pin(FakeRegion.of(BASE, 8 * GIB, 64 << 10), wholeCap());
    assertEquals(4 * GIB - (64 << 10), lengths().getFirst());
    assertEquals(3, lengths().size());
    assertEquals(4 * GIB - 1, pinned.receipt().capBytes());
    assertTrue(pinned.receipt().bounds().getFirst().contains("faults at 4 GiB"));
  }

  @Test
  void b97TheCapCanBeChosen() {
    pin(FakeRegion.of(BASE, 4 * GIB), wholeCap().capBytes(512 * MIB));
    assertEquals(8, lengths().size());
  }

  @Test
  void b101AKnownLimitIsCheckedBeforePagesAreTouched() {
    long bytes = 534_991L * MIB + 128 * PAGE;
    BlockLayout oneBlock = BlockShape.of(1, bytes).layerMajor(1);
    FakeRegion region = FakeRegion.of(BASE, bytes).populated(0); // waiting would never end
    assertThrows(
        NoPlanException.class,
        () -> pin(region, PinRequest.strict().around(oneBlock).cuts(CutPolicy.NEVER_INSIDE_BLOCK)));
    assertEquals(0, bench.driver.calls.size());
  }

  @Test
  void totalsOfTheDriverAreChecked() {
    bench.driver.traits =
        new Traits(
            Traits.PinModel.HARD, List.of(), 4 * GIB, 2 * GIB, Traits.Alias.SAME_ADDRESS, Set.of());
    PinnedRegion first = pin(FakeRegion.of(BASE, 2 * GIB), PinRequest.strict());
    assertEquals(List.of(), first.receipt().notes());
    PinnedRegion second = pin(FakeRegion.of(BASE + 2 * GIB, GIB), PinRequest.strict());
    assertTrue(second.receipt().notes().getFirst().contains("known to work well"));
    FakeRegion third = FakeRegion.of(BASE + 3 * GIB, 2 * GIB);
    PinException over = refusal(third, PinRequest.strict());
    assertEquals(Reason.TOTAL_LIMIT, over.reason());
    PinnedRegion ignored = pin(third, PinRequest.strict().ignoringBounds(Set.of("driver-total")));
    assertTrue(ignored.receipt().notes().getFirst().contains("ignored"));
    assertTrue(
        ignored.receipt().bounds().stream().noneMatch(bound -> bound.contains("unknown here")));
  }

  @Test
  void aCapBelowThePageIsATypedError() {
    bench.driver.traits = traits(new RegistrationBound("small", 512 * MIB, "of a test"));
    PinException below = refusal(FakeRegion.of(BASE, 4 * GIB, GIB), PinRequest.strict());
    assertEquals(Reason.CAP_BELOW_PAGE, below.reason());
    assertSays(below, "small");
    pin(FakeRegion.of(BASE, 4 * GIB, GIB), PinRequest.strict().ignoringBounds(Set.of("small")))
        .close();
  }

  @Test
  void coherentDevicesGetAWarning() {
    bench.driver.traits =
        new Traits(
            Traits.PinModel.COHERENT,
            List.of(),
            Long.MAX_VALUE,
            Long.MAX_VALUE,
            Traits.Alias.SAME_ADDRESS,
            Set.of());
    PinnedRegion pinned = pin(FakeRegion.of(BASE, GIB), PinRequest.strict());
    assertEquals("COHERENT", pinned.receipt().pinModel());
    assertTrue(pinned.receipt().notes().getFirst().contains("migrate"));
  }

  @Test
  void aReusedAddressIsPinnedAnew() {
    FakeRegion first = FakeRegion.of(BASE, GIB);
    pin(first, PinRequest.strict());
    first.close();
    bench.driver.before =
        call -> assertTrue(first.unmapped || call.name().equals("unregister"), call.name());
    FakeRegion second = FakeRegion.of(BASE, GIB);
    PinnedRegion pinned = pin(second, PinRequest.strict());
    assertEquals(8, bench.driver.calls("register").size());
    assertEquals(GIB, pinned.registeredBytes());
  }

  @Test
  void plansOf2TibOnTheSmallestPagesPinExactly() {
    long bytes = 2L << 40;
    PinnedRegion pinned = pin(FakeRegion.of(BASE, bytes), PinRequest.strict());
    assertEquals(8192, pinned.ranges().size());
    assertEquals(bytes, pinned.registeredBytes());
    long at = 0;
    for (PinnedRange range : pinned.ranges()) {
      assertEquals(at, range.offsetBytes());
      at += range.registeredBytes();
    }
    assertEquals(bytes, at);
    HostAddresses addresses = ((PinnedMemory) pinned).addressesOn(bench.device);
    for (long offset = 0; offset < bytes; offset += 100_000_000_007L) {
      assertEquals(BASE + offset, addresses.addressOf(offset));
      assertEquals((offset / (256 * MIB) + 1) * 256 * MIB, addresses.endOfRange(offset));
    }
    assertEquals(MemorySegment.NULL.address(), addresses.addressOf(0) - BASE);
  }
}
