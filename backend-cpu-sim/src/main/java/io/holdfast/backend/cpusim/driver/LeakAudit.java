package io.holdfast.backend.cpusim.driver;

import java.util.ArrayList;
import java.util.List;

/**
 * What was taken from a driver and not given back.
 *
 * @param retains retains of shared contexts
 * @param contexts contexts of engines'
 * @param registrations pinned host ranges
 * @param hostAllocations host memory from the driver
 * @param hostBytes bytes of both
 * @param allocations device memory
 * @param reservations device addresses
 * @param mappings memory under such addresses
 * @param physicalHandles handles of physical memory
 * @param descriptors open descriptors
 * @param deviceBytes bytes of allocations and handles
 * @param streams streams
 * @param events events
 * @param modules loaded code
 * @param regions host mappings, where the host is simulated
 * @param regionBytes bytes of them
 * @param files open descriptors of the host, where it is simulated
 * @param lostObjects registrations that a driver of this kind can never free (HIP's second of one
 *     range)
 */
public record LeakAudit(
    int retains,
    int contexts,
    int registrations,
    int hostAllocations,
    long hostBytes,
    int allocations,
    int reservations,
    int mappings,
    int physicalHandles,
    int descriptors,
    long deviceBytes,
    int streams,
    int events,
    int modules,
    int regions,
    long regionBytes,
    int files,
    int lostObjects) {

  /**
   * Whether everything is back.
   *
   * @return true where nothing is left
   */
  public boolean clean() {
    return leaks().isEmpty();
  }

  /**
   * What is left, in words.
   *
   * @return one entry per kind, for example {@code 2 registrations}
   */
  public List<String> leaks() {
    List<String> all = new ArrayList<>();
    add(all, retains, "context retains");
    add(all, contexts, "engine contexts");
    add(all, registrations, "registrations");
    add(all, hostAllocations, "host allocations");
    add(all, hostBytes, "host bytes");
    add(all, allocations, "device allocations");
    add(all, reservations, "address reservations");
    add(all, mappings, "mappings");
    add(all, physicalHandles, "physical handles");
    add(all, descriptors, "descriptors");
    add(all, deviceBytes, "device bytes");
    add(all, streams, "streams");
    add(all, events, "events");
    add(all, modules, "modules");
    add(all, regions, "host mappings");
    add(all, regionBytes, "mapped host bytes");
    add(all, files, "open files");
    add(all, lostObjects, "lost registration objects");
    return List.copyOf(all);
  }

  /**
   * What is left without somebody's part.
   *
   * @param others what that somebody holds
   * @return the difference
   */
  public LeakAudit minus(LeakAudit others) {
    return new LeakAudit(
        retains - others.retains,
        contexts - others.contexts,
        registrations - others.registrations,
        hostAllocations - others.hostAllocations,
        hostBytes - others.hostBytes,
        allocations - others.allocations,
        reservations - others.reservations,
        mappings - others.mappings,
        physicalHandles - others.physicalHandles,
        descriptors - others.descriptors,
        deviceBytes - others.deviceBytes,
        streams - others.streams,
        events - others.events,
        modules - others.modules,
        regions - others.regions,
        regionBytes - others.regionBytes,
        files - others.files,
        lostObjects - others.lostObjects);
  }

  /**
   * The same with a simulated host's part.
   *
   * @param mappings of the process
   * @param mappedBytes of them
   * @param openFiles of the process
   * @return the whole
   */
  public LeakAudit withHost(int mappings, long mappedBytes, int openFiles) {
    return new LeakAudit(
        retains,
        contexts,
        registrations,
        hostAllocations,
        hostBytes,
        allocations,
        reservations,
        this.mappings,
        physicalHandles,
        descriptors,
        deviceBytes,
        streams,
        events,
        modules,
        mappings,
        mappedBytes,
        openFiles,
        lostObjects);
  }

  private static void add(List<String> all, long count, String what) {
    if (count != 0) {
      all.add(count + " " + what);
    }
  }

  @Override
  public String toString() {
    return clean() ? "nothing leaked" : "leaked: " + String.join(", ", leaks());
  }
}
