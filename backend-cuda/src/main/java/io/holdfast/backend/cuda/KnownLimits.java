package io.holdfast.backend.cuda;

import io.holdfast.spi.Traits.RegistrationBound;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Limits of one registration call that certain drivers are known to have. */
final class KnownLimits {
  /** CUDA 13.0, as cuDriverGetVersion counts: the first that comes with the branch 580. */
  private static final int CUDA_13_0 = 13_000;

  /** From this branch on the kernel module allocates a registration's page table in one piece. */
  private static final int FIRST_ONE_PIECE = 580;

  /** The first branch that is known to do otherwise again. */
  private static final int FIRST_REPAIRED = 615;

  /** That piece is an allocation of the kernel, which ends below 2 GiB, with 16 bytes a page. */
  private static final long PAGES_IN_ONE_PIECE = Integer.MAX_VALUE / 16;

  /** Branches whose mappings of 4 GiB and more are broken on kernels with pages of 64 KiB. */
  private static final int FIRST_BROKEN_64K = 590;

  private static final int LAST_BROKEN_64K = 610;

  private static final long PAGE_64K = 65_536;

  private KnownLimits() {}

  /**
   * The limits of one driver on one kernel.
   *
   * <p>The kernel module's branch decides; where it cannot be read, the library's version does, and
   * the newest ones are taken to have the limit.
   *
   * @param version as cuDriverGetVersion counts
   * @param module the kernel module, where it can be read
   * @param basePageBytes the operating system's page, whose number the driver's table grows with
   */
  static List<RegistrationBound> of(
      int version, Optional<KernelModule> module, long basePageBytes) {
    List<RegistrationBound> bounds = new ArrayList<>();
    boolean onePiece =
        module
            .map(known -> known.branch() >= FIRST_ONE_PIECE && known.branch() < FIRST_REPAIRED)
            .orElse(version >= CUDA_13_0);
    if (onePiece) {
      bounds.add(
          new RegistrationBound(
              "driver-580-512gib",
              PAGES_IN_ONE_PIECE * basePageBytes,
              "drivers from 580 on keep 16 bytes for each page of "
                  + basePageBytes
                  + " bytes in one kernel allocation, which must stay below 2 GiB"));
    }
    boolean broken =
        basePageBytes == PAGE_64K
            && module
                .map(
                    known ->
                        known.branch() >= FIRST_BROKEN_64K && known.branch() <= LAST_BROKEN_64K)
                .orElse(false);
    if (broken) {
      bounds.add(
          new RegistrationBound(
              "driver-590-64kib-4gib",
              (4L << 30) - PAGE_64K,
              "drivers 590 to 610 on kernels with pages of 64 KiB fault below each 4 GiB of a"
                  + " mapping"));
    }
    return bounds;
  }
}
