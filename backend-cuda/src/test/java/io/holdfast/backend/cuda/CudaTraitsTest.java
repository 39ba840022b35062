package io.holdfast.backend.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.holdfast.spi.DevicePort;
import io.holdfast.spi.Traits;
import io.holdfast.spi.Traits.Alias;
import io.holdfast.spi.Traits.PinModel;
import io.holdfast.spi.Traits.RegistrationBound;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a driver declares that the core obeys. */
final class CudaTraitsTest {
  private static final long PAGE_4K = 4096;
  private static final long PAGE_64K = 65_536;

  @TempDir Path folder;

  @Test
  void driver580OnPagesOf4KiBStaysBelow512GiBInOneCall() {
    assertEquals(List.of("driver-580-512gib 549755809792"), bounds(13_000, module(580), PAGE_4K));
  }

  @Test
  void largerPagesMakeTheSameTableReachFurther() {
    assertEquals(List.of("driver-580-512gib 8796092956672"), bounds(13_000, module(580), PAGE_64K));
  }

  @Test
  void branchesBefore580AndFrom615OnHaveNoSuchLimit() {
    assertEquals(List.of(), bounds(12_090, module(575), PAGE_4K));
    assertEquals(List.of(), bounds(13_040, module(615), PAGE_4K));
    assertEquals(1, bounds(13_030, module(614), PAGE_4K).size());
  }

  @Test
  void theKernelModuleDecidesWhereALibraryIsNewerThanIt() {
    assertEquals(List.of(), bounds(13_000, module(535), PAGE_4K));
  }

  @Test
  void withoutTheModulesVersionTheNewestLibrariesAreTakenToHaveTheLimit() {
    assertEquals(1, bounds(13_000, Optional.empty(), PAGE_4K).size());
    assertEquals(1, bounds(14_000, Optional.empty(), PAGE_4K).size());
    assertEquals(List.of(), bounds(12_090, Optional.empty(), PAGE_4K));
  }

  @Test
  void branches590To610OnPagesOf64KiBStayBelow4GiB() {
    for (int branch : new int[] {590, 595, 610}) {
      assertEquals(
          List.of("driver-580-512gib 8796092956672", "driver-590-64kib-4gib 4294901760"),
          bounds(13_010, module(branch), PAGE_64K));
    }
    assertEquals(1, bounds(13_010, module(595), PAGE_4K).size());
    assertEquals(1, bounds(13_010, module(611), PAGE_64K).size());
  }

  @Test
  void anOrdinaryDevicePinsHardAtTheHostsAddresses() {
    assertEquals(
        new Traits(
            PinModel.HARD,
            KnownLimits.of(13_000, Optional.empty(), PretendDriver.BASE_PAGE_BYTES),
            Long.MAX_VALUE,
            Long.MAX_VALUE,
            Alias.SAME_ADDRESS,
            Set.of()),
        traits());
  }

  @Test
  void aDeviceThatReadsHostPageTablesDoesNotPin() {
    assertEquals(PinModel.COHERENT, traits("register.pin-model=coherent").pinModel());
  }

  @Test
  void aDeviceThatCannotUseHostPointersIsAskedForEachRange() {
    assertEquals(Alias.PER_RANGE, traits("register.alias=per-range-and-device").alias());
  }

  private Traits traits(String... flags) {
    try (DevicePort port = new PretendDriver(folder, flags).driver().open(0)) {
      return port.traits(PAGE_4K);
    }
  }

  private static Optional<KernelModule> module(int branch) {
    return Optional.of(new KernelModule(branch + ".1.2", branch));
  }

  private static List<String> bounds(
      int version, Optional<KernelModule> module, long basePageBytes) {
    return KnownLimits.of(version, module, basePageBytes).stream()
        .map((RegistrationBound bound) -> bound.id() + " " + bound.maxBytes())
        .toList();
  }
}
