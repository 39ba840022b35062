package io.holdfast.conformance.tap;

import io.holdfast.spi.DeviceRange;
import io.holdfast.spi.HostKernel;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** What was taken from the ports and not given back. Any thread. */
final class Books {
  private final Map<Long, Long> registered = new TreeMap<>();
  private final Map<String, Map<Object, Integer>> held = new TreeMap<>();
  private long mappedBytes;

  synchronized void enter(Call call, @Nullable Object result) {
    switch (call.name()) {
      case "DevicePort.register" -> {
        MemorySegment range = call.argument(MemorySegment.class, 0);
        registered.put(range.address(), range.byteSize());
      }
      case "DevicePort.unregister" ->
          registered.remove(call.argument(MemorySegment.class, 0).address());
      case "DevicePort.allocate" -> take("device memory", result);
      case "DevicePort.free" -> give("device memory", call.argument(Object.class, 0));
      case "DevicePort.createStream" -> take("stream", result);
      case "DevicePort.destroyStream" -> give("stream", call.argument(Object.class, 0));
      case "DevicePort.createEvent", "DevicePort.createEventFor" -> take("event", result);
      case "DevicePort.destroyEvent" -> give("event", call.argument(Object.class, 0));
      case "HostAllocationPort.allocate" -> take("driver host memory", addressOf(result));
      case "HostAllocationPort.free" ->
          give("driver host memory", addressOf(call.argument(Object.class, 0)));
      case "VirtualMemoryPort.reserve", "VirtualMemoryPort.reserveAt" -> take("addresses", result);
      case "VirtualMemoryPort.freeAddresses" -> give("addresses", call.argument(Object.class, 0));
      case "VirtualMemoryPort.create",
          "VirtualMemoryPort.importFileDescriptor",
          "FabricPort.importFabric" ->
          take("physical memory", result);
      case "VirtualMemoryPort.release" -> give("physical memory", call.argument(Object.class, 0));
      case "VirtualMemoryPort.map" -> take("mapping", call.argument(Object.class, 0));
      case "VirtualMemoryPort.unmap" -> giveWithin(call.argument(DeviceRange.class, 0));
      case "HostKernel.map" -> mappedBytes += ((MemorySegment) present(result)).byteSize();
      case "HostKernel.unmap" -> mappedBytes -= call.argument(MemorySegment.class, 0).byteSize();
      case "HostKernel.openDirectory",
          "HostKernel.open",
          "HostKernel.openNameless",
          "HostKernel.memoryFile",
          "HostKernel.takeFrom" ->
          take("open file", ((HostKernel.Handle) present(result)).descriptor());
      case "HostKernel.close" ->
          give("open file", call.argument(HostKernel.Handle.class, 0).descriptor());
      default -> {}
    }
  }

  private static Object present(@Nullable Object result) {
    if (result == null) {
      throw new AssertionError("a port answered null");
    }
    return result;
  }

  private static Object addressOf(@Nullable Object memory) {
    return ((MemorySegment) present(memory)).address();
  }

  private void take(String what, @Nullable Object key) {
    held.computeIfAbsent(what, _ -> new HashMap<>()).merge(present(key), 1, Integer::sum);
  }

  private void give(String what, Object key) {
    held.computeIfAbsent(what, _ -> new HashMap<>())
        .computeIfPresent(key, (_, count) -> count == 1 ? null : count - 1);
  }

  private void giveWithin(DeviceRange range) {
    held.computeIfAbsent("mapping", _ -> new HashMap<>())
        .keySet()
        .removeIf(
            one ->
                one instanceof DeviceRange inside
                    && inside.address() >= range.address()
                    && inside.endAddress() <= range.endAddress());
  }

  /** Registered ranges, by address. */
  synchronized Map<Long, Long> registered() {
    return new TreeMap<>(registered);
  }

  synchronized long mappedBytes() {
    return mappedBytes;
  }

  synchronized int count(String what) {
    return held.getOrDefault(what, Map.of()).values().stream().mapToInt(one -> one).sum();
  }

  synchronized List<String> open() {
    List<String> open = new ArrayList<>();
    if (!registered.isEmpty()) {
      open.add(registered.size() + " registered ranges: " + registered);
    }
    if (mappedBytes != 0) {
      open.add(mappedBytes + " mapped bytes");
    }
    held.forEach(
        (what, things) -> {
          if (!things.isEmpty()) {
            open.add(things.size() + " of " + what + ": " + things.keySet());
          }
        });
    return open;
  }
}
