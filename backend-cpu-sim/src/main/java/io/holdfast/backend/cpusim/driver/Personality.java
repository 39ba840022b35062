package io.holdfast.backend.cpusim.driver;

import java.util.List;
import java.util.Objects;
import java.util.Set;

/**
 * One driver version's ways, as data: what it lacks, what it refuses, and with which number.
 *
 * <p>Read from a text by {@link Personalities}; immutable.
 *
 * @param id short name, for example {@code cuda-580}
 * @param family whose driver
 * @param version as the driver counts: {@code 13000} for CUDA 13.0, {@code 70200000} for HIP 7.2
 * @param label for people
 * @param contextBytes device memory that a context costs
 * @param missingSymbols exported names that this version does not have
 * @param lastError what the driver remembers of a failure
 * @param registration how it pins
 * @param copies how it copies
 * @param vmm how it maps
 */
public record Personality(
    String id,
    Family family,
    int version,
    String label,
    long contextBytes,
    Set<String> missingSymbols,
    LastError lastError,
    Registration registration,
    Copies copies,
    Vmm vmm) {

  /** Checks and copies. */
  public Personality {
    Objects.requireNonNull(id, "id");
    Objects.requireNonNull(family, "family");
    Objects.requireNonNull(label, "label");
    missingSymbols = Set.copyOf(missingSymbols);
    Objects.requireNonNull(lastError, "lastError");
    Objects.requireNonNull(registration, "registration");
    Objects.requireNonNull(copies, "copies");
    Objects.requireNonNull(vmm, "vmm");
  }

  /** What a driver remembers of a failed call, per thread. */
  public enum LastError {
    /** Nothing. */
    NONE,
    /** The last call's answer, success included (HIP up to 6). */
    EVERY_CALL,
    /** The last failure, until it is read (HIP from 7). */
    UNTIL_READ
  }

  /**
   * How a driver pins host memory.
   *
   * @param pagesPerCall a call with that many base pages or more is refused; 0 for no such limit
   * @param pagesPerCallCode with which answer
   * @param bytesPerCall a call with more bytes is refused with {@code failureCode}; 0 for no limit
   * @param bytesInTotal registrations of more bytes together are refused with {@code failureCode};
   *     0 for no limit
   * @param warnAboveBytes what its vendor advises against, in total; 0 for nothing
   * @param failureCode the answer to holes, protections and limits
   * @param acceptedFlags the flag bits that are not refused
   * @param readOnlyCode the answer to the read-only flag: 0 where it works
   * @param overlap what happens to ranges that are registered already
   * @param interior what happens when a range is unregistered by an address inside of it
   * @param alias whether the device's address differs from the host's
   * @param backingPages whether a range may end inside a backing page
   * @param pinModel what registering does to pages
   */
  public record Registration(
      long pagesPerCall,
      int pagesPerCallCode,
      long bytesPerCall,
      long bytesInTotal,
      long warnAboveBytes,
      int failureCode,
      int acceptedFlags,
      int readOnlyCode,
      Overlap overlap,
      Interior interior,
      Alias alias,
      BackingPages backingPages,
      PinModel pinModel) {}

  /** What happens to ranges that are registered already. */
  public enum Overlap {
    /** Any shared byte is refused with 712. */
    REFUSED,
    /** Accepted; one more object that nothing frees. */
    LEAKS,
    /** Refused with 712 only where the start lies in a registered range. */
    REFUSED_BY_START
  }

  /** What happens when a range is unregistered by an address inside of it. */
  public enum Interior {
    /** The call is refused with 1. */
    REFUSED,
    /** The process ends. */
    ABORTS
  }

  /** How the device's address of registered memory relates to the host's. */
  public enum Alias {
    /** It is the same. */
    SAME,
    /** It differs, and differs per range and per device. */
    PER_RANGE_AND_DEVICE
  }

  /** Whether a registration may end inside a backing page. */
  public enum BackingPages {
    /** It may. */
    ANY_PART,
    /** It may not: both ends are on backing pages. */
    WHOLE
  }

  /** What registering does to pages. */
  public enum PinModel {
    /** They are pinned. */
    HARD,
    /** The driver follows them. */
    NOTIFIER,
    /** Nothing: the device reads the host's page tables. */
    COHERENT
  }

  /**
   * How a driver copies.
   *
   * @param batch what its batch call takes
   * @param batchRowsFault a batch of more rows faults the device; 0 for none
   * @param hostPointers whether device code and batches may use a registered range's host address
   */
  public record Copies(Batch batch, int batchRowsFault, HostPointers hostPointers) {}

  /** What a batch call takes. */
  public enum Batch {
    /** There is no such call. */
    ABSENT,
    /** Nine arguments, at least one attribute, a stream of one's own. */
    CUDA_V1,
    /** As {@link #CUDA_V1}, and the export with eight arguments too. */
    CUDA_V2,
    /** Attributes are ignored; any stream. */
    HIP_IGNORES_ATTRIBUTES,
    /** Attributes are refused with 801; any stream. */
    HIP_REFUSES_ATTRIBUTES,
    /** Attributes are taken; any stream. */
    HIP_TAKES_ATTRIBUTES;

    /**
     * Whether the call exists.
     *
     * @return false for {@link #ABSENT}
     */
    public boolean present() {
      return this != ABSENT;
    }

    /**
     * Whether the CUDA rules hold: attributes needed, default streams refused.
     *
     * @return true for the two CUDA forms
     */
    public boolean cudaRules() {
      return this == CUDA_V1 || this == CUDA_V2;
    }
  }

  /** Whether device code and batches may use a registered range's host address. */
  public enum HostPointers {
    /** They may. */
    USABLE,
    /** They must use the device's address; anything else faults. */
    DEVICE_ADDRESS_NEEDED
  }

  /**
   * How a driver keeps addresses apart from memory.
   *
   * @param level how much of it works
   * @param granuleBytes what sizes are multiples of
   * @param mapMisuseCode the answer to an offset in {@code map}
   * @param mapSizes whether {@code map} insists on the whole allocation
   * @param tailAccessFailsPercent how often access over the newest mapping only is refused
   * @param memoryReturns when released memory is free again
   * @param unmapSeveral what one unmap over several mappings does
   * @param unmapUnmapped what unmapping nothing does
   * @param releaseWhileMapped what releasing before unmapping does
   * @param posixFd whether descriptors can be made
   * @param importForm how a descriptor is passed
   * @param fabricCode the answer to creating fabric memory: 0 where it works
   * @param rdma whether network cards can read
   * @param dmaBuf whether dma-buf descriptors can be made
   * @param lock whether calls of two threads at once go wrong
   * @param wish whether addresses that were in use are given again to who asks for them
   */
  public record Vmm(
      Level level,
      long granuleBytes,
      int mapMisuseCode,
      MapSizes mapSizes,
      int tailAccessFailsPercent,
      MemoryReturns memoryReturns,
      UnmapSeveral unmapSeveral,
      UnmapUnmapped unmapUnmapped,
      ReleaseWhileMapped releaseWhileMapped,
      boolean posixFd,
      ImportForm importForm,
      int fabricCode,
      boolean rdma,
      boolean dmaBuf,
      Concurrency lock,
      Wish wish) {}

  /** Whether a wish for addresses that had memory and were given back is granted. */
  public enum Wish {
    /** It is. */
    GRANTED,
    /** The call succeeds, with addresses elsewhere (H200, driver 580). */
    IGNORED
  }

  /** How much of virtual memory works. */
  public enum Level {
    /** The attribute says no; calls answer 801. */
    ABSENT,
    /** The attribute says no; reserving answers 0 and gives no address (HIP up to 6.0). */
    HOLLOW,
    /** It works. */
    WORKS
  }

  /** Whether mapping insists on the whole allocation. */
  public enum MapSizes {
    /** The mapping must be as long as the allocation. */
    EXACT,
    /** A shorter mapping is accepted. */
    SHORTER_ACCEPTED
  }

  /** When released memory is free again. */
  public enum MemoryReturns {
    /** When nothing refers to it. */
    AT_ONCE,
    /** When the addresses it was mapped at are given back too. */
    WITH_THE_ADDRESSES,
    /** Never (HIP 6.4.0). */
    NEVER
  }

  /** What one unmap over several mappings does. */
  public enum UnmapSeveral {
    /** Unmaps them. */
    WORKS,
    /** Unmaps them, but the addresses can never be given back. */
    BREAKS_ADDRESS_FREE
  }

  /** What unmapping nothing does. */
  public enum UnmapUnmapped {
    /** Nothing; the answer is 0. */
    ACCEPTED,
    /** The process ends. */
    CRASHES
  }

  /** What releasing before unmapping does. */
  public enum ReleaseWhileMapped {
    /** The memory lives until it is unmapped. */
    WORKS,
    /** The addresses can never be given back. */
    BREAKS_ADDRESS_FREE
  }

  /** How a descriptor is passed when importing. */
  public enum ImportForm {
    /** As a number. */
    VALUE,
    /** As the address of a number. */
    ADDRESS
  }

  /** Whether calls of two threads at once go wrong. */
  public enum Concurrency {
    /** Any thread at any time. */
    SAFE,
    /** Two at once are refused with 1, some of the time. */
    RACES
  }

  /**
   * Whether this version exports a name.
   *
   * @param symbol the exported name
   * @return false where it is missing
   */
  public boolean exports(String symbol) {
    return !missingSymbols.contains(symbol);
  }

  /**
   * The symbolic name of an answer.
   *
   * @param code the answer
   * @return its name in this family
   */
  public String codeName(int code) {
    return Codes.name(family, code);
  }

  /**
   * Names of the personalities that come along.
   *
   * @return their ids
   */
  public static List<String> shipped() {
    return Personalities.SHIPPED;
  }
}
