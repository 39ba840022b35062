package io.holdfast.backend.hip;

import io.holdfast.spi.Traits.Quirk;
import java.util.EnumSet;
import java.util.Set;

/**
 * What depends on the runtime's version, and nothing else of it: every gate has its place here.
 *
 * <p>The number is HIP's own. It is not ROCm's: ROCm 10 comes with HIP 7.13 to 7.15.
 *
 * @param number major times 10 million, minor times 100 thousand, plus the patch
 */
record HipVersion(int number) {
  // How the struct of an allocation's form is ordered.
  private static final int HIP_5_3 = 50_300_000;

  private static final int HIP_6_0 = 60_000_000;

  // The first whose virtual memory is more than symbols.
  private static final int HIP_6_1 = 60_100_000;

  private static final int HIP_6_2 = 60_200_000;

  private static final int HIP_7_1 = 70_100_000;

  private static final int HIP_7_2 = 70_200_000;

  private static final int HIP_7_12 = 71_200_000;

  private static final int HIP_7_13 = 71_300_000;

  private static final int HIP_7_14 = 71_400_000;

  /** The first number, which the names of libraries end with. */
  int major() {
    return number / 10_000_000;
  }

  /** What hipMemoryType calls device memory: renumbered by 6.0. */
  int memoryTypeDevice() {
    return number >= HIP_6_0 ? 2 : 1;
  }

  /** The order of an allocation's properties. */
  HipLayouts.Properties allocationProperties() {
    return number >= HIP_5_3 ? HipLayouts.PROPERTIES : HipLayouts.PROPERTIES_5_2;
  }

  /** Before, reserving answers 0 and gives no address, and access is a call that does nothing. */
  boolean virtualMemoryIsReal() {
    return number >= HIP_6_1;
  }

  /** Before, export and import answer 801. */
  boolean hasFileDescriptors() {
    return number >= HIP_6_2;
  }

  /** Before, the descriptor's address is passed (rocm-systems 759 and 1564). */
  boolean importsDescriptorsByValue() {
    return number >= HIP_7_1;
  }

  /** Whether the attribute of the host's node exists. */
  boolean knowsHostNode() {
    return number >= HIP_7_2;
  }

  /** Whether there is an attribute to ask before a dma-buf is; before, the call itself answers. */
  boolean knowsDmaBuf() {
    return number >= HIP_7_12;
  }

  /** Whether the attribute of virtual memory that network cards can read exists. */
  boolean knowsRdma() {
    return number >= HIP_7_13;
  }

  /** What an exported feature is short of in this version, to be said after its name. */
  String reservation(HipFeature feature) {
    return switch (feature) {
      case VIRTUAL_MEMORY -> virtualMemoryIsReal() ? "" : ", and hollow before 6.1";
      case FILE_DESCRIPTORS -> hasFileDescriptors() ? "" : ", and refused before 6.2";
      case BATCH_COPY ->
          number >= HIP_7_14
              ? ""
              : ", as a loop inside the runtime: it saves calls and moves nothing sooner";
      default -> "";
    };
  }

  /**
   * What virtual memory needs beyond the plain protocol.
   *
   * <p>Calls of several threads race (mori 476), one unmap over several mappings breaks freeing the
   * addresses up to 6.4 (ROCR-Runtime 285), and so does releasing what is mapped up to 7.0
   * (ROCR-Runtime 257). From 7.1 on access over a grown tail alone fails at random (rocm-systems
   * 6977); no version is known to have it mended. 7.2 keeps released memory while its addresses are
   * reserved (torch_memory_saver 83), and is taken to do so until 7.13.
   */
  Set<Quirk> quirks() {
    Set<Quirk> quirks =
        EnumSet.of(
            Quirk.ONE_VMM_CALL_AT_A_TIME, Quirk.UNMAP_EACH_MAPPING, Quirk.RELEASE_AFTER_UNMAP);
    if (number >= HIP_7_1) {
      quirks.add(Quirk.ACCESS_WHOLE_PREFIX);
    }
    if (number >= HIP_7_2 && number < HIP_7_13) {
      quirks.add(Quirk.RE_RESERVE_TO_RETURN);
    }
    return quirks;
  }

  /** 60443484 is 6.4.43484; builds of the early 5 count the patch in thousands. */
  String words() {
    return number / 10_000_000 + "." + number / 100_000 % 100 + "." + number % 100_000;
  }
}
