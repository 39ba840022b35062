package io.holdfast.backend.cpusim.driver;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The chapter of host and device memory. */
abstract class MemoryCalls extends CaptureCalls {

  MemoryCalls(DriverSetup setup) {
    super(setup);
  }

  /**
   * {@code cuMemHostRegister}, {@code hipHostRegister}. Can be slow.
   *
   * @param address first byte
   * @param bytes how many
   * @param flags 1 portable, 2 mapped, 8 read-only or coarse-grained
   * @return the code
   */
  public int memHostRegister(long address, long bytes, int flags) {
    return callIn(
        Operation.HOST_REGISTER,
        address,
        bytes,
        flags,
        (thread, context) -> {
          int code = unsafe(thread);
          return code == Codes.SUCCESS ? pins.register(context, address, bytes, flags) : code;
        });
  }

  /**
   * {@code cuMemHostUnregister}, {@code hipHostUnregister}. Can be slow.
   *
   * @param address exactly where a registration starts
   * @return the code; CUDA answers 713 rather than 201 without a context
   */
  public int memHostUnregister(long address) {
    return call(
        Operation.HOST_UNREGISTER,
        address,
        0,
        0,
        () -> {
          ThreadState thread = carriers.current();
          int code = contextCode(thread);
          if (code != Codes.SUCCESS) {
            return code == Codes.INVALID_CONTEXT ? Codes.HOST_MEMORY_NOT_REGISTERED : code;
          }
          code = unsafe(thread);
          if (code != Codes.SUCCESS) {
            return code;
          }
          if (!cuda) {
            awaitAll(contextOf(thread));
          }
          return pins.unregister(address);
        });
  }

  /**
   * {@code cuMemHostGetDevicePointer}, {@code hipHostGetDevicePointer}.
   *
   * @param out the device's address
   * @param address a registered byte
   * @return the code
   */
  public int memHostGetDevicePointer(long[] out, long address) {
    return callIn(
        Operation.HOST_GET_DEVICE_POINTER,
        address,
        0,
        0,
        (thread, context) -> {
          Registration there = visible(context, address);
          if (there == null) {
            return Codes.INVALID_VALUE;
          }
          out[0] = pins.seenBy(context.device, there, address);
          return Codes.SUCCESS;
        });
  }

  /** The registration that a context knows of, or null. */
  private @Nullable Registration visible(Context context, long address) {
    Registration there = pins.at(address);
    boolean known = there != null && (!cuda || there.portable() || there.context == context);
    return known ? there : null;
  }

  /**
   * {@code cuMemHostGetFlags}, {@code hipHostGetFlags}.
   *
   * @param out the flags: the mapped bit is always set, the read-only bit never
   * @param address a registered byte
   * @return the code
   */
  public int memHostGetFlags(long[] out, long address) {
    return callIn(
        Operation.HOST_GET_FLAGS,
        address,
        0,
        0,
        (thread, context) -> {
          Registration there = visible(context, address);
          if (there == null) {
            return Codes.INVALID_VALUE;
          }
          out[0] = (there.flags & ~HostPins.READ_ONLY) | 2;
          return Codes.SUCCESS;
        });
  }

  /**
   * {@code cuMemHostAlloc}, {@code hipHostMalloc}. Can be slow.
   *
   * @param out the address, page aligned; the memory is zero
   * @param bytes how many
   * @param flags 1 portable, 2 mapped, 4 write-combined
   * @return the code
   */
  public int memHostAlloc(long[] out, long bytes, int flags) {
    return callIn(
        Operation.HOST_ALLOC,
        bytes,
        flags,
        0,
        (thread, context) -> {
          int code = unsafe(thread);
          if (code != Codes.SUCCESS) {
            return code;
          }
          if (bytes < 0 || (cuda && (flags & ~7) != 0)) {
            return Codes.INVALID_VALUE;
          }
          if (bytes == 0) {
            out[0] = 0;
            return Codes.SUCCESS;
          }
          Registration made = pins.allocate(context, bytes, flags);
          if (made == null) {
            return Codes.OUT_OF_MEMORY;
          }
          out[0] = made.address;
          return Codes.SUCCESS;
        });
  }

  /**
   * {@code cuMemFreeHost}, {@code hipHostFree}. Waits for the device.
   *
   * @param address of {@link #memHostAlloc}
   * @return the code
   */
  public int memFreeHost(long address) {
    return callIn(
        Operation.HOST_FREE,
        address,
        0,
        0,
        (thread, context) -> {
          int code = unsafe(thread);
          if (code != Codes.SUCCESS) {
            return code;
          }
          awaitAll(context);
          return pins.free(address);
        });
  }

  /**
   * Tells the driver that host memory was unmapped. A real one hears nothing: its pages stay pinned
   * while nobody sees them any more.
   *
   * @param address first byte
   * @param bytes how many
   */
  public void unmapped(long address, long bytes) {
    lock.lock();
    try {
      for (Registration one : pins.orphan(address, address + bytes)) {
        violation(
            "0x"
                + Long.toHexString(address)
                + ", "
                + bytes
                + " bytes were unmapped under the registration of 0x"
                + Long.toHexString(one.address)
                + ", "
                + one.bytes);
      }
    } finally {
      lock.unlock();
    }
  }

  /**
   * {@code cuMemAlloc}, {@code hipMalloc}.
   *
   * @param out the address
   * @param bytes how many; CUDA refuses 0, HIP answers with the null address
   * @return the code
   */
  public int memAlloc(long[] out, long bytes) {
    return callIn(
        Operation.MEM_ALLOC,
        bytes,
        0,
        0,
        (thread, context) -> {
          int code = unsafe(thread);
          if (code != Codes.SUCCESS) {
            return code;
          }
          if (bytes == 0 && !cuda) {
            out[0] = 0;
            return Codes.SUCCESS;
          }
          if (bytes <= 0) {
            return Codes.INVALID_VALUE;
          }
          return answer(out, space.allocate(context, bytes));
        });
  }

  /**
   * {@code cuMemFree}, {@code hipFree}. Waits for the device.
   *
   * @param address of {@link #memAlloc}, or 0
   * @return the code
   */
  public int memFree(long address) {
    return callIn(
        Operation.MEM_FREE,
        address,
        0,
        0,
        (thread, context) -> {
          int code = unsafe(thread);
          if (code != Codes.SUCCESS || address == 0) {
            return code;
          }
          if (space.allocationAt(address) == null) {
            return Codes.INVALID_VALUE;
          }
          awaitAll(context);
          Backed there = space.allocationAt(address);
          if (there == null) {
            return Codes.INVALID_VALUE;
          }
          space.free(there);
          return Codes.SUCCESS;
        });
  }

  /**
   * {@code cuMemGetAddressRange}, {@code hipMemGetAddressRange}.
   *
   * @param out first address and bytes of the allocation or mapping
   * @param address any address
   * @return the code
   */
  public int memGetAddressRange(long[] out, long address) {
    return callIn(
        Operation.MEM_GET_ADDRESS_RANGE,
        address,
        0,
        0,
        (thread, context) -> {
          Backed there = space.at(address);
          if (there == null) {
            return Codes.NOT_FOUND;
          }
          out[0] = there.address;
          out[1] = there.bytes;
          return Codes.SUCCESS;
        });
  }

  /**
   * {@code cuMemGetInfo}, {@code hipMemGetInfo}.
   *
   * @param out free and total bytes
   * @return the code
   */
  public int memGetInfo(long[] out) {
    return callIn(
        Operation.MEM_GET_INFO,
        0,
        0,
        0,
        (thread, context) -> {
          out[0] = space.freeBytes(context.device);
          out[1] = setup.devices().get(context.device).totalBytes();
          return Codes.SUCCESS;
        });
  }

  /**
   * {@code cuPointerGetAttribute}, {@code hipPointerGetAttribute}.
   *
   * @param out the value
   * @param attribute as both families count
   * @param address any address
   * @return the code
   */
  public int pointerGetAttribute(long[] out, int attribute, long address) {
    return call(
        Operation.POINTER_GET_ATTRIBUTE,
        attribute,
        address,
        0,
        () -> {
          int code = contextCode(carriers.current());
          if (code != Codes.SUCCESS) {
            return code == Codes.INVALID_CONTEXT ? Codes.INVALID_VALUE : code;
          }
          return answer(out, pointerAttribute(attribute, address));
        });
  }

  private long pointerAttribute(int attribute, long address) {
    Registration host = Addresses.isAlias(address) ? pins.atAlias(address) : pins.at(address);
    Backed device = space.at(address);
    if (host == null && device == null) {
      return -Codes.INVALID_VALUE;
    }
    int ordinal = contextOf(carriers.current()).device;
    return switch (attribute) {
      case 1 -> contextOfMemory(host, device);
      case 2 -> host != null ? 1 : 2;
      case 3 ->
          host != null && !Addresses.isAlias(address)
              ? pins.seenBy(ordinal, host, address)
              : address;
      case 4 -> {
        if (host == null) {
          yield -Codes.INVALID_VALUE;
        }
        yield Addresses.isAlias(address) ? pins.hostAddress(host, address) : address;
      }
      case 8 -> 0;
      case 9 -> host != null ? host.context.device : Objects.requireNonNull(device).memory.device;
      case 10 -> device != null && device.reservation == null ? 1 : 0;
      case 11 -> rangeStart(host, device);
      case 12 -> rangeSize(host, device);
      case 13 -> 1;
      case 14 -> device == null || device.physical == null ? 0 : device.physical.handleTypes;
      case 15 -> device != null && (device.physical == null || device.physical.rdma) ? 1 : 0;
      default -> -Codes.INVALID_VALUE;
    };
  }

  /** Memory under reserved addresses belongs to no context. */
  private static long contextOfMemory(@Nullable Registration host, @Nullable Backed device) {
    Context owner = host != null ? host.context : Objects.requireNonNull(device).context;
    return owner == null ? -Codes.INVALID_VALUE : owner.handle;
  }

  private static long rangeStart(@Nullable Registration host, @Nullable Backed device) {
    if (host != null) {
      return host.address;
    }
    Backed there = Objects.requireNonNull(device);
    return there.reservation == null ? there.address : there.reservation.address;
  }

  private long rangeSize(@Nullable Registration host, @Nullable Backed device) {
    long bytes;
    if (host != null) {
      bytes = host.bytes;
    } else {
      Backed there = Objects.requireNonNull(device);
      bytes = there.reservation == null ? there.bytes : there.reservation.bytes;
    }
    return cuda ? bytes : bytes & 0xFFFF_FFFFL; // HIP writes 32 bits
  }
}
