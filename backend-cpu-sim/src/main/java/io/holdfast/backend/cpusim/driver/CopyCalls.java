package io.holdfast.backend.cpusim.driver;

import io.holdfast.spi.CopyTable;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.jspecify.annotations.Nullable;

/** The chapter of copies. */
abstract class CopyCalls extends MemoryCalls {
  private static final int INVALID = -1;
  private static final int DEVICE = 1;
  private static final int PINNED = 2;
  private static final int PAGEABLE = 3;

  /** In place of a host address whose pages were unmapped under a registration. */
  private static final long NOWHERE = Long.MAX_VALUE;

  /** Sources are read in stream order. */
  public static final int SOURCE_ORDER_STREAM = 1;

  /** Sources are read before the call returns, whatever the stream still has to do. */
  public static final int SOURCE_ORDER_DURING_CALL = 2;

  /**
   * Sources are read at any time from the call to the copy's end. Here the start of each row is
   * read during the call and the rest when the stream comes to it, so that a source which changes
   * between the two is seen torn.
   */
  public static final int SOURCE_ORDER_ANY = 3;

  /** How much of a row that may be read at any time is read during the call, at most. */
  private static final int EARLY_BYTES = 64;

  CopyCalls(DriverSetup setup) {
    super(setup);
  }

  /** What one end of a copy is, or {@link #INVALID}. */
  int classify(int device, long address, long bytes, boolean writing) {
    long end = address + bytes;
    if (end < address) {
      return INVALID;
    }
    if (Addresses.isDevice(address)) {
      return space.usable(device, address, bytes, writing) ? DEVICE : INVALID;
    }
    if (Addresses.isAlias(address)) {
      Registration there = pins.atAlias(address);
      return there != null
              && Addresses.aliasDevice(address) == device
              && pins.hostAddress(there, address) + bytes <= there.end()
          ? PINNED
          : INVALID;
    }
    if (address < Addresses.LOWEST_HOST || end > Addresses.DEVICE_BASE) {
      return INVALID;
    }
    Registration there = pins.at(address);
    if (there == null) {
      return PAGEABLE;
    }
    return end <= there.end() ? PINNED : INVALID;
  }

  /**
   * {@code cuMemcpyAsync}: by address, in any direction.
   *
   * @param destination first byte
   * @param source first byte
   * @param bytes how many; 0 does nothing
   * @param handle the stream
   * @return the code; pageable memory makes the call wait for the copy
   */
  public int memcpyAsync(long destination, long source, long bytes, long handle) {
    return copy(Operation.MEMCPY_ASYNC, destination, source, bytes, handle);
  }

  /**
   * {@code cuMemcpyHtoDAsync}.
   *
   * @param destination first byte
   * @param source first byte
   * @param bytes how many; 0 does nothing
   * @param handle the stream
   * @return the code
   */
  public int memcpyHtoDAsync(long destination, long source, long bytes, long handle) {
    return copy(Operation.MEMCPY_HTOD_ASYNC, destination, source, bytes, handle);
  }

  /**
   * {@code cuMemcpyDtoHAsync}.
   *
   * @param destination first byte
   * @param source first byte
   * @param bytes how many; 0 does nothing
   * @param handle the stream
   * @return the code
   */
  public int memcpyDtoHAsync(long destination, long source, long bytes, long handle) {
    return copy(Operation.MEMCPY_DTOH_ASYNC, destination, source, bytes, handle);
  }

  /**
   * {@code cuMemcpyDtoDAsync}.
   *
   * @param destination first byte
   * @param source first byte
   * @param bytes how many; 0 does nothing
   * @param handle the stream
   * @return the code
   */
  public int memcpyDtoDAsync(long destination, long source, long bytes, long handle) {
    return copy(Operation.MEMCPY_DTOD_ASYNC, destination, source, bytes, handle);
  }

  private int copy(Operation operation, long destination, long source, long bytes, long handle) {
    int code = admit(operation);
    lock.lock();
    try {
      ThreadState thread = carriers.current();
      code = code == Codes.SUCCESS ? contextCode(thread) : code;
      if (code == Codes.SUCCESS) {
        Context context = contextOf(thread);
        Stream stream = stream(thread, context, handle);
        code =
            stream == null
                ? Codes.INVALID_HANDLE
                : copyOn(stream, operation, destination, source, bytes);
      }
      ledger.write(operation, destination, source, bytes, code);
    } finally {
      lock.unlock();
    }
    return remember(code);
  }

  int copyOn(Stream stream, Operation operation, long destination, long source, long bytes) {
    if (bytes == 0) {
      return captureCode(stream);
    }
    if (bytes < 0) {
      return Codes.INVALID_VALUE;
    }
    int device = stream.context.device;
    int to = classify(device, destination, bytes, true);
    int from = classify(device, source, bytes, false);
    if (to == INVALID || from == INVALID) {
      return Codes.INVALID_VALUE;
    }
    boolean pageable = to == PAGEABLE || from == PAGEABLE;
    Work work = work(operation, Work.Kind.ROWS);
    work.addRow(destination, source, bytes);
    work.linkDirection = linkDirection(to, from);
    work.checksPins = !pageable;
    int code = enqueue(stream, work);
    if (code == Codes.SUCCESS && pageable && stream.capture == null) {
      awaitTicket(stream, stream.submitted);
      return stream.context.lostCode;
    }
    return code;
  }

  private static int linkDirection(int to, int from) {
    return from == DEVICE && to != DEVICE ? LINK_TO_HOST : LINK_TO_DEVICE;
  }

  /**
   * {@code cuMemcpy}: on the legacy default stream, and waits.
   *
   * @param destination first byte
   * @param source first byte
   * @param bytes how many; 0 does nothing
   * @return the code
   */
  public int memcpy(long destination, long source, long bytes) {
    return callIn(
        Operation.MEMCPY,
        destination,
        source,
        bytes,
        (thread, context) -> {
          int code = unsafe(thread);
          if (code != Codes.SUCCESS) {
            return code;
          }
          code = copyOn(context.legacy, Operation.MEMCPY, destination, source, bytes);
          if (code == Codes.SUCCESS) {
            awaitTicket(context.legacy, context.legacy.submitted);
            code = context.lostCode;
          }
          return code;
        });
  }

  /**
   * {@code cuMemcpy2DAsync}: one rectangle.
   *
   * @param destination first byte
   * @param destinationPitch bytes from row to row
   * @param source first byte
   * @param sourcePitch bytes from row to row
   * @param width bytes per row
   * @param height rows
   * @param handle the stream
   * @return the code
   */
  public int memcpy2DAsync(
      long destination,
      long destinationPitch,
      long source,
      long sourcePitch,
      long width,
      long height,
      long handle) {
    return callIn(
        Operation.MEMCPY_2D_ASYNC,
        destination,
        source,
        width,
        (thread, context) -> {
          Stream stream = stream(thread, context, handle);
          if (stream == null) {
            return Codes.INVALID_HANDLE;
          }
          if (width == 0 || height == 0) {
            return captureCode(stream);
          }
          if (width < 0
              || height < 0
              || destinationPitch < width
              || sourcePitch < width
              || destinationPitch > Attribute.MAX_PITCH_BYTES
              || sourcePitch > Attribute.MAX_PITCH_BYTES) {
            return Codes.INVALID_VALUE;
          }
          int device = context.device;
          int to = classify(device, destination, destinationPitch * (height - 1) + width, true);
          int from = classify(device, source, sourcePitch * (height - 1) + width, false);
          if (to == INVALID || from == INVALID) {
            return Codes.INVALID_VALUE;
          }
          boolean pageable = to == PAGEABLE || from == PAGEABLE;
          Work work = workOfRows(Operation.MEMCPY_2D_ASYNC);
          for (long row = 0; row < height; row++) {
            work.addRow(destination + row * destinationPitch, source + row * sourcePitch, width);
          }
          work.linkDirection = linkDirection(to, from);
          work.checksPins = !pageable;
          int code = enqueue(stream, work);
          if (code == Codes.SUCCESS && pageable && stream.capture == null) {
            awaitTicket(stream, stream.submitted);
            code = stream.context.lostCode;
          }
          return code;
        });
  }

  /**
   * {@code cuMemcpyBatchAsync} in either form, {@code hipMemcpyBatchAsync}.
   *
   * @param rows the copies; the columns are read during the call
   * @param from the first row
   * @param to one behind the last row
   * @param sourceOrders the source order of each attribute; none where no attribute is passed
   * @param flags the flags of each attribute
   * @param firstRows the row, counted from {@code from}, where each attribute begins
   * @param failedRow where not null: the row at fault counted from {@code from}, or all ones
   * @param handle the stream
   * @return the code
   */
  public int memcpyBatchAsync(
      CopyTable rows,
      long from,
      long to,
      int[] sourceOrders,
      int[] flags,
      long[] firstRows,
      long @Nullable [] failedRow,
      long handle) {
    int code = admit(Operation.MEMCPY_BATCH_ASYNC);
    lock.lock();
    try {
      ThreadState thread = carriers.current();
      code = code == Codes.SUCCESS ? contextCode(thread) : code;
      if (code == Codes.SUCCESS) {
        code =
            batch(
                thread,
                contextOf(thread),
                rows,
                from,
                to,
                sourceOrders,
                flags,
                firstRows,
                failedRow,
                handle);
      } else if (failedRow != null) {
        failedRow[0] = -1;
      }
      ledger.write(Operation.MEMCPY_BATCH_ASYNC, to - from, sourceOrders.length, handle, code);
    } finally {
      lock.unlock();
    }
    return remember(code);
  }

  private int batch(
      ThreadState thread,
      Context context,
      CopyTable rows,
      long from,
      long to,
      int[] sourceOrders,
      int[] flags,
      long[] firstRows,
      long @Nullable [] failedRow,
      long handle) {
    if (failedRow != null) {
      failedRow[0] = -1;
    }
    Personality.Copies rules = personality.copies();
    if (!rules.batch().present()) {
      return Codes.NOT_SUPPORTED;
    }
    if (rules.batch() == Personality.Batch.HIP_REFUSES_ATTRIBUTES && sourceOrders.length > 0) {
      return Codes.NOT_SUPPORTED;
    }
    long count = to - from;
    if (count <= 0) {
      return Codes.INVALID_VALUE;
    }
    if (rules.batch().cudaRules()) {
      if (handle == Stream.NULL || handle == Stream.LEGACY) {
        return Codes.INVALID_VALUE;
      }
      int code = attributesCode(sourceOrders, flags, firstRows, count);
      if (code != Codes.SUCCESS) {
        return code;
      }
    }
    Stream stream = stream(thread, context, handle);
    if (stream == null) {
      return Codes.INVALID_HANDLE;
    }
    Work work = workOfRows(Operation.MEMCPY_BATCH_ASYNC);
    boolean pageable = false;
    boolean hostPointer = false;
    boolean captured = stream.capture != null;
    int attribute = 0;
    for (long row = from; row < to; row++) {
      long destination = rows.destination(row);
      long source = rows.source(row);
      long bytes = rows.bytes(row);
      int end = bytes <= 0 ? INVALID : classify(context.device, destination, bytes, true);
      int start = bytes <= 0 ? INVALID : classify(context.device, source, bytes, false);
      if (end == INVALID || start == INVALID) {
        if (failedRow != null) {
          failedRow[0] = row - from;
        }
        discard(work);
        return Codes.INVALID_VALUE;
      }
      pageable |= end == PAGEABLE || start == PAGEABLE;
      hostPointer |=
          (end == PINNED && !Addresses.isAlias(destination))
              || (start == PINNED && !Addresses.isAlias(source));
      work.linkDirection = linkDirection(end, start);
      work.addRow(destination, source, bytes);
      while (attribute + 1 < firstRows.length && firstRows[attribute + 1] <= row - from) {
        attribute++;
      }
      work.readEarly(
          captured || sourceOrders.length == 0 ? 0 : earlyBytes(sourceOrders[attribute], bytes));
    }
    if ((rules.batchRowsFault() > 0 && count > rules.batchRowsFault())
        || (hostPointer
            && rules.hostPointers() == Personality.HostPointers.DEVICE_ADDRESS_NEEDED)) {
      work.kind = Work.Kind.BODY;
      work.body = () -> Codes.ILLEGAL_ADDRESS;
    }
    work.checksPins = !pageable;
    work.anyOrder = true;
    if (work.kind == Work.Kind.ROWS && work.earlyBytes > 0) {
      int code = readEarly(context.device, work);
      if (code != Codes.SUCCESS) {
        discard(work);
        return code;
      }
    }
    int code = enqueue(stream, work);
    if (code == Codes.SUCCESS && pageable && !captured) {
      awaitTicket(stream, stream.submitted);
      code = stream.context.lostCode;
    }
    return code;
  }

  private static long earlyBytes(int sourceOrder, long bytes) {
    return switch (sourceOrder) {
      case SOURCE_ORDER_DURING_CALL -> bytes;
      case SOURCE_ORDER_ANY -> Math.min(EARLY_BYTES, (bytes + 1) / 2);
      default -> 0;
    };
  }

  /** Reads what a batch reads during its call. */
  private int readEarly(int device, Work work) {
    long to = work.early().address();
    int code = Codes.SUCCESS;
    for (int row = 0; row < work.rowCount && code == Codes.SUCCESS; row++) {
      long bytes = work.readEarlyOf(row);
      code = move(device, to, work.rows[Work.ROW * row + 1], bytes, false);
      to += bytes;
    }
    return code;
  }

  private static int attributesCode(int[] sourceOrders, int[] flags, long[] firstRows, long count) {
    if (sourceOrders.length == 0 || sourceOrders.length > count) {
      return Codes.INVALID_VALUE;
    }
    for (int i = 0; i < sourceOrders.length; i++) {
      boolean order = sourceOrders[i] >= SOURCE_ORDER_STREAM && sourceOrders[i] <= SOURCE_ORDER_ANY;
      boolean begins = i == 0 ? firstRows[0] == 0 : firstRows[i] > firstRows[i - 1];
      if (!order || !begins || firstRows[i] >= count || (flags[i] & ~1) != 0) {
        return Codes.INVALID_VALUE;
      }
    }
    return Codes.SUCCESS;
  }

  /**
   * {@code cuMemsetD8Async}.
   *
   * @param address first byte
   * @param value the byte
   * @param bytes how many
   * @param handle the stream
   * @return the code
   */
  public int memsetD8Async(long address, byte value, long bytes, long handle) {
    return callIn(
        Operation.MEMSET_ASYNC,
        address,
        value,
        bytes,
        (thread, context) -> {
          Stream stream = stream(thread, context, handle);
          if (stream == null) {
            return Codes.INVALID_HANDLE;
          }
          if (bytes == 0) {
            return captureCode(stream);
          }
          int device = context.device;
          int kind = bytes < 0 ? INVALID : classify(device, address, bytes, true);
          if (kind != DEVICE && kind != PINNED) {
            return Codes.INVALID_VALUE;
          }
          return enqueue(stream, Operation.MEMSET_ASYNC, () -> fill(device, address, bytes, value));
        });
  }

  /**
   * {@code cuMemsetD32Async}.
   *
   * @param address first byte, a multiple of 4
   * @param value the word
   * @param count how many words
   * @param handle the stream
   * @return the code
   */
  public int memsetD32Async(long address, int value, long count, long handle) {
    return callIn(
        Operation.MEMSET_ASYNC,
        address,
        value,
        count,
        (thread, context) -> {
          Stream stream = stream(thread, context, handle);
          if (stream == null) {
            return Codes.INVALID_HANDLE;
          }
          if (count == 0) {
            return captureCode(stream);
          }
          int device = context.device;
          long bytes = count * Integer.BYTES;
          boolean whole = count > 0 && bytes / Integer.BYTES == count && address % 4 == 0;
          int kind = whole ? classify(device, address, bytes, true) : INVALID;
          if (kind != DEVICE && kind != PINNED) {
            return Codes.INVALID_VALUE;
          }
          return enqueue(
              stream, Operation.MEMSET_ASYNC, () -> fillWords(device, address, bytes, value));
        });
  }

  private int fillWords(int device, long address, long bytes, int value) {
    try (Arena arena = Arena.ofConfined()) {
      long pieceBytes = Math.min(bytes, 1 << 16);
      MemorySegment piece = arena.allocate(pieceBytes, Integer.BYTES);
      for (long at = 0; at < pieceBytes; at += Integer.BYTES) {
        piece.set(ValueLayout.JAVA_INT, at, value);
      }
      int code = Codes.SUCCESS;
      for (long done = 0; done < bytes && code == Codes.SUCCESS; done += pieceBytes) {
        long run = Math.min(pieceBytes, bytes - done);
        code = move(device, address + done, piece.address(), run, false);
      }
      return code;
    }
  }

  /**
   * The copy kernel, launched by {@code cuLaunchKernel}: reads its rows from three columns on the
   * device's side when it runs, not when it is launched.
   *
   * @param columns the first column (destinations) as the device sees it
   * @param capacity rows from one column to the next (then sources, then byte counts)
   * @param from the first row
   * @param to one behind the last row
   * @param threadBlocks how many, positive
   * @param handle the stream
   * @return the code
   */
  public int launchCopyKernel(
      long columns, long capacity, long from, long to, int threadBlocks, long handle) {
    return launchCopyKernel(columns, capacity, from, to, threadBlocks, Long.MAX_VALUE, handle);
  }

  /**
   * The same for a launch that was told how far it reaches into each row.
   *
   * @param columns the first column (destinations) as the device sees it
   * @param capacity rows from one column to the next (then sources, then byte counts)
   * @param from the first row
   * @param to one behind the last row
   * @param threadBlocks how many, positive
   * @param reachBytes bytes of a row that are copied at most
   * @param handle the stream
   * @return the code
   */
  public int launchCopyKernel(
      long columns,
      long capacity,
      long from,
      long to,
      int threadBlocks,
      long reachBytes,
      long handle) {
    int code = admit(Operation.LAUNCH_COPY_KERNEL);
    lock.lock();
    try {
      ThreadState thread = carriers.current();
      code = code == Codes.SUCCESS ? contextCode(thread) : code;
      if (code == Codes.SUCCESS) {
        Stream stream = stream(thread, contextOf(thread), handle);
        if (stream == null) {
          code = Codes.INVALID_HANDLE;
        } else if (threadBlocks < 1 || to < from || from < 0 || to > capacity) {
          code = Codes.INVALID_VALUE;
        } else {
          Work work = work(Operation.LAUNCH_COPY_KERNEL, Work.Kind.KERNEL);
          work.addRow(columns, capacity, from);
          work.end = to;
          work.reachBytes = reachBytes;
          code = enqueue(stream, work);
        }
      }
      ledger.write(Operation.LAUNCH_COPY_KERNEL, columns, to - from, threadBlocks, code);
    } finally {
      lock.unlock();
    }
    return remember(code);
  }

  @Override
  final int runKernel(Stream stream, Work work) {
    Context context = stream.context;
    long columns = work.rows[0];
    long capacity = work.rows[1];
    for (long row = work.rows[2]; row < work.end; row++) {
      long destinations = kernelHost(context, columns + row * Long.BYTES, Long.BYTES);
      long sources = kernelHost(context, columns + (capacity + row) * Long.BYTES, Long.BYTES);
      long counts = kernelHost(context, columns + (2 * capacity + row) * Long.BYTES, Long.BYTES);
      if (destinations < 0 || sources < 0 || counts < 0) {
        return Codes.ILLEGAL_ADDRESS;
      }
      long bytes = Math.min(word(counts), work.reachBytes);
      if (bytes == 0) {
        continue;
      }
      long destination = kernelAddress(context, word(destinations), bytes);
      long source = kernelAddress(context, word(sources), bytes);
      if (destination < 0 || source < 0) {
        return Codes.ILLEGAL_ADDRESS;
      }
      int code = move(context.device, destination, source, bytes, false);
      if (code != Codes.SUCCESS) {
        return code;
      }
    }
    return Codes.SUCCESS;
  }

  private static long word(long hostAddress) {
    return PhysicalMemory.HOST.get(ValueLayout.JAVA_LONG_UNALIGNED, hostAddress);
  }

  /** What a kernel may use under an address: the address itself, or the host's behind it; or -1. */
  private long kernelAddress(Context context, long address, long bytes) {
    return Addresses.isDevice(address) ? address : kernelHost(context, address, bytes);
  }

  private long kernelHost(Context context, long address, long bytes) {
    lock.lock();
    try {
      boolean alias = Addresses.isAlias(address);
      Registration there = alias ? pins.atAlias(address) : pins.at(address);
      boolean coherent = personality.registration().pinModel() == Personality.PinModel.COHERENT;
      if (there == null) {
        return coherent && !alias && address >= Addresses.LOWEST_HOST ? address : -1;
      }
      boolean wrongForm =
          alias
              ? Addresses.aliasDevice(address) != context.device
              : there.aliasOffset >= 0
                  || personality.copies().hostPointers()
                      == Personality.HostPointers.DEVICE_ADDRESS_NEEDED;
      boolean unknown = cuda && !there.portable() && there.context != context;
      long host = alias ? pins.hostAddress(there, address) : address;
      boolean usable = !wrongForm && !unknown && !there.orphaned && host + bytes <= there.end();
      return usable ? host : -1;
    } finally {
      lock.unlock();
    }
  }

  @Override
  final int runRows(Stream stream, Work work) {
    int count = work.rowCount;
    long earlyEnd = work.earlyBytes == 0 ? 0 : work.early().address() + work.earlyBytes;
    int code = Codes.SUCCESS;
    for (int i = 0; i < count && code == Codes.SUCCESS; i++) {
      // a batch promises no order among its rows, so that the last one goes first here
      int row = work.anyOrder ? count - 1 - i : i;
      long read = work.readEarlyOf(row);
      earlyEnd -= read;
      code = runRow(stream.context.device, work, row, earlyEnd, read);
    }
    return code;
  }

  private int runRow(int device, Work work, int row, long early, long read) {
    int at = Work.ROW * row;
    long to = work.rows[at];
    int code = move(device, to, early, read, false);
    return code != Codes.SUCCESS
        ? code
        : move(
            device, to + read, work.rows[at + 1] + read, work.rows[at + 2] - read, work.checksPins);
  }

  /** Moves bytes now, without the lock; 0, or 700 where something is not there any more. */
  int move(int device, long destination, long source, long bytes, boolean checksPins) {
    long done = 0;
    while (done < bytes) {
      long to = destination + done;
      long from = source + done;
      long run = bytes - done;
      PhysicalMemory target = null;
      PhysicalMemory origin = null;
      long targetAt = 0;
      long originAt = 0;
      lock.lock();
      try {
        if (Addresses.isDevice(to)) {
          Backed there = space.at(to);
          if (there == null || (there.writers >>> device & 1) == 0) {
            return Codes.ILLEGAL_ADDRESS;
          }
          run = Math.min(run, there.end() - to);
          target = there.memory;
          targetAt = to - there.address;
        } else {
          targetAt = hostNow(to, bytes - done, checksPins);
        }
        if (Addresses.isDevice(from)) {
          Backed there = space.at(from);
          if (there == null || (there.readers >>> device & 1) == 0) {
            return Codes.ILLEGAL_ADDRESS;
          }
          run = Math.min(run, there.end() - from);
          origin = there.memory;
          originAt = from - there.address;
        } else {
          originAt = hostNow(from, bytes - done, checksPins);
        }
        if (targetAt < 0 || originAt < 0) {
          return Codes.ILLEGAL_ADDRESS;
        }
        if (target != null) {
          target.references++;
        }
        if (origin != null) {
          origin.references++;
        }
      } finally {
        lock.unlock();
      }
      int code;
      try {
        code = moveNow(target, targetAt, origin, originAt, run);
      } finally {
        lock.lock();
        try {
          if (target != null) {
            space.drop(target);
          }
          if (origin != null) {
            space.drop(origin);
          }
        } finally {
          lock.unlock();
        }
      }
      if (code != Codes.SUCCESS) {
        return code;
      }
      done += run;
    }
    return Codes.SUCCESS;
  }

  /** The host address to use now, {@link #NOWHERE} for pages nobody sees, or -1. */
  private long hostNow(long address, long bytes, boolean checksPins) {
    boolean alias = Addresses.isAlias(address);
    Registration there = alias ? pins.atAlias(address) : pins.at(address);
    if (there == null) {
      return !checksPins && !alias ? address : -1;
    }
    long host = alias ? pins.hostAddress(there, address) : address;
    if (checksPins && host + bytes > there.end()) {
      return -1;
    }
    return there.orphaned ? NOWHERE : host;
  }

  private int moveNow(
      @Nullable PhysicalMemory target,
      long targetAt,
      @Nullable PhysicalMemory origin,
      long originAt,
      long bytes) {
    if ((target == null && targetAt == NOWHERE) || (origin == null && originAt == NOWHERE)) {
      return Codes.SUCCESS;
    }
    if ((target == null && !setup.host().touch(targetAt, bytes))
        || (origin == null && !setup.host().touch(originAt, bytes))) {
      return Codes.ILLEGAL_ADDRESS;
    }
    if (target != null && origin != null) {
      PhysicalMemory.copy(origin, originAt, target, targetAt, bytes);
    } else if (target != null) {
      target.write(targetAt, originAt, bytes);
    } else if (origin != null) {
      origin.read(originAt, targetAt, bytes);
    } else {
      MemorySegment.copy(PhysicalMemory.HOST, originAt, PhysicalMemory.HOST, targetAt, bytes);
    }
    return Codes.SUCCESS;
  }

  int fill(int device, long address, long bytes, byte value) {
    long done = 0;
    while (done < bytes) {
      long at = address + done;
      if (!Addresses.isDevice(at)) {
        long host;
        lock.lock();
        try {
          host = hostNow(at, bytes, true);
        } finally {
          lock.unlock();
        }
        if (host == NOWHERE) {
          return Codes.SUCCESS;
        }
        if (host < 0 || !setup.host().touch(host, bytes)) {
          return Codes.ILLEGAL_ADDRESS;
        }
        PhysicalMemory.HOST.asSlice(host, bytes).fill(value);
        return Codes.SUCCESS;
      }
      PhysicalMemory memory;
      long offset;
      long run;
      lock.lock();
      try {
        Backed there = space.at(at);
        if (there == null || (there.writers >>> device & 1) == 0) {
          return Codes.ILLEGAL_ADDRESS;
        }
        memory = there.memory;
        offset = at - there.address;
        run = Math.min(bytes - done, there.end() - at);
        memory.references++;
      } finally {
        lock.unlock();
      }
      try {
        memory.fill(offset, run, value);
      } finally {
        lock.lock();
        try {
          space.drop(memory);
        } finally {
          lock.unlock();
        }
      }
      done += run;
    }
    return Codes.SUCCESS;
  }
}
