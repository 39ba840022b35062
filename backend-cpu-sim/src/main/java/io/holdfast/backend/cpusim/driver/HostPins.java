package io.holdfast.backend.cpusim.driver;

import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Which host memory a device may use, by exact bytes; guarded by the driver's lock.
 *
 * <p>Rules and numbers: the registration matrices of CUDA 580 and HIP 5 to 7.
 */
final class HostPins {
  static final int PORTABLE = 1;
  static final int READ_ONLY = 8;
  private static final long ALIAS_GRAIN = 1L << 21;

  private final Personality personality;
  private final HostSpace host;
  private final IntervalMap<Registration> byHost = new IntervalMap<>();
  private final IntervalMap<Registration> byAlias = new IntervalMap<>();
  private long nextAlias = ALIAS_GRAIN;
  private long registeredBytes;
  private long leakedObjects;

  HostPins(Personality personality, HostSpace host) {
    this.personality = personality;
    this.host = host;
  }

  int register(Context context, long address, long bytes, int flags) {
    Personality.Registration rules = personality.registration();
    if (address == 0 || bytes <= 0 || (flags & ~rules.acceptedFlags()) != 0) {
      return Codes.INVALID_VALUE;
    }
    boolean readOnly = personality.family() == Family.CUDA && (flags & READ_ONLY) != 0;
    if (readOnly && rules.readOnlyCode() != 0) {
      return rules.readOnlyCode();
    }
    long end = address + bytes;
    if (address < Addresses.LOWEST_HOST || end < address || end > Addresses.DEVICE_BASE) {
      return rules.failureCode();
    }
    int taken = refuseTaken(address, end);
    if (taken != Codes.SUCCESS) {
      return taken;
    }
    long basePages = bytes / host.basePageBytes();
    if (rules.pagesPerCall() > 0 && basePages >= rules.pagesPerCall()) {
      return rules.pagesPerCallCode();
    }
    if ((rules.bytesPerCall() > 0 && bytes > rules.bytesPerCall())
        || (rules.bytesInTotal() > 0 && registeredBytes + bytes > rules.bytesInTotal())) {
      return rules.failureCode();
    }
    if (rules.backingPages() == Personality.BackingPages.WHOLE
        && (address % host.backingPageBytes(address) != 0
            || end % host.backingPageBytes(end - 1) != 0)) {
      return rules.failureCode();
    }
    return switch (host.inspect(address, bytes)) {
      case HOLE, SPECIAL -> rules.failureCode();
      case READ_ONLY -> readOnly ? pin(context, address, bytes, flags) : rules.failureCode();
      // pinning makes the pages that are not there yet
      case WRITABLE ->
          host.touch(address, bytes) ? pin(context, address, bytes, flags) : rules.failureCode();
    };
  }

  private int refuseTaken(long address, long end) {
    if (!byHost.overlaps(address, end)) {
      return Codes.SUCCESS;
    }
    Registration atStart = byHost.at(address);
    if (atStart != null && atStart.arena != null) {
      return Codes.INVALID_VALUE;
    }
    return switch (personality.registration().overlap()) {
      case REFUSED -> Codes.HOST_MEMORY_ALREADY_REGISTERED;
      case REFUSED_BY_START ->
          atStart == null ? Codes.SUCCESS : Codes.HOST_MEMORY_ALREADY_REGISTERED;
      case LEAKS -> {
        if (byHost.startingAt(address) != null) {
          leakedObjects++;
        }
        yield Codes.SUCCESS;
      }
    };
  }

  private int pin(Context context, long address, long bytes, int flags) {
    if (personality.registration().overlap() == Personality.Overlap.LEAKS
        && byHost.startingAt(address) != null) {
      return Codes.SUCCESS; // a second object under the same key, which nothing will ever find
    }
    add(context, address, bytes, flags, null);
    return Codes.SUCCESS;
  }

  /** Memory of the driver's own, page aligned and zero. Null where there is none left. */
  @SuppressWarnings("MustBeClosedChecker") // closed when the allocation is freed
  @Nullable Registration allocate(Context context, long bytes, int flags) {
    long page = host.basePageBytes();
    long wholePages = Math.ceilDiv(bytes, page) * page;
    if (!host.takePages(wholePages)) {
      return null;
    }
    Arena arena = Arena.ofShared();
    long address;
    try {
      address = arena.allocate(wholePages, page).address();
    } catch (OutOfMemoryError exhausted) {
      arena.close();
      host.givePages(wholePages);
      return null;
    }
    return add(context, address, bytes, flags, arena);
  }

  private Registration add(
      Context context, long address, long bytes, int flags, @Nullable Arena arena) {
    long alias = -1;
    if (personality.registration().alias() == Personality.Alias.PER_RANGE_AND_DEVICE) {
      alias = nextAlias + (address & (ALIAS_GRAIN - 1));
      nextAlias = Math.ceilDiv(alias + bytes, ALIAS_GRAIN) * ALIAS_GRAIN + ALIAS_GRAIN;
    }
    Registration made = new Registration(address, bytes, flags, context, alias, arena);
    byHost.put(address, made.end(), made);
    if (alias >= 0) {
      byAlias.put(alias, alias + bytes, made);
    }
    registeredBytes += bytes;
    return made;
  }

  int unregister(long address) {
    Registration exact = byHost.startingAt(address);
    if (exact != null && exact.arena != null) {
      return Codes.INVALID_VALUE;
    }
    if (exact != null) {
      remove(exact);
      return Codes.SUCCESS;
    }
    if (address == 0 && personality.family() == Family.HIP) {
      return Codes.INVALID_VALUE;
    }
    if (byHost.at(address) == null) {
      return Codes.HOST_MEMORY_NOT_REGISTERED;
    }
    return switch (personality.registration().interior()) {
      case REFUSED -> Codes.INVALID_VALUE;
      case ABORTS ->
          throw new SimulatedCrash(
              "the driver aborts when a registration is ended by an address inside of it: 0x"
                  + Long.toHexString(address));
    };
  }

  int free(long address) {
    Registration exact = byHost.startingAt(address);
    if (exact == null || exact.arena == null) {
      return Codes.INVALID_VALUE;
    }
    remove(exact);
    return Codes.SUCCESS;
  }

  private void remove(Registration gone) {
    byHost.remove(gone.address, gone);
    if (gone.aliasOffset >= 0) {
      byAlias.remove(gone.aliasOffset, gone);
    }
    registeredBytes -= gone.bytes;
    if (gone.arena != null) {
      long page = host.basePageBytes();
      gone.arena.close();
      host.givePages(Math.ceilDiv(gone.bytes, page) * page);
    }
  }

  /** Everything of a context that ends. */
  void removeAll(Context context) {
    for (Registration one : byHost.toList()) {
      if (one.context == context) {
        remove(one);
      }
    }
  }

  /** The registration that holds a host address, or null. */
  @Nullable Registration at(long hostAddress) {
    return byHost.at(hostAddress);
  }

  /** The registration that holds a device's address of host memory, or null. */
  @Nullable Registration atAlias(long deviceAddress) {
    return byAlias.at(Addresses.aliasOffset(deviceAddress));
  }

  /** How a device sees a host address inside a registration. */
  long seenBy(int device, Registration registration, long hostAddress) {
    return registration.aliasOffset < 0
        ? hostAddress
        : Addresses.alias(device, registration.aliasOffset + (hostAddress - registration.address));
  }

  /** The host address behind a device's address of it. */
  long hostAddress(Registration registration, long deviceAddress) {
    return registration.address + (Addresses.aliasOffset(deviceAddress) - registration.aliasOffset);
  }

  /** Registrations whose memory is gone now. */
  List<Registration> orphan(long from, long to) {
    List<Registration> orphans = new ArrayList<>();
    byHost.forEach(
        one -> {
          if (one.address < to && one.end() > from && !one.orphaned) {
            one.orphaned = true;
            orphans.add(one);
          }
        });
    return orphans;
  }

  long registeredBytes() {
    return registeredBytes;
  }

  long leakedObjects() {
    return leakedObjects;
  }

  List<Registration> all() {
    return byHost.toList();
  }
}
