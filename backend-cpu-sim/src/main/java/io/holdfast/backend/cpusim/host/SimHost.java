package io.holdfast.backend.cpusim.host;

import io.holdfast.backend.cpusim.driver.DriverLock;
import io.holdfast.backend.cpusim.driver.SimClock;
import io.holdfast.spi.HostKernel.ThreadPlace;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * A simulated host: it has the pages and the files, its processes come and go. Any thread.
 *
 * <p>Counters answer as the kernel's files do, so that a test can look at pools before and after.
 */
public final class SimHost {
  private static final int FIRST_PID = 4242;

  final HostSpec spec;
  final SimClock clock;
  final Map<String, Integer> devices;
  final DriverLock lock = new DriverLock(); // driver calls touch pages

  private final SortedMap<Integer, Long> freeBytes = new TreeMap<>();
  private final Map<Long, PoolState> pools = new TreeMap<>();
  private final List<FileSystem> fileSystems = new ArrayList<>();
  private final Map<Long, SimHostKernel> processes = new TreeMap<>();
  private final Group group;
  private final Map<Integer, Integer> nodesOfCpus = new HashMap<>();
  private final Map<Integer, List<Integer>> nearest = new ConcurrentHashMap<>();
  private final ThreadPlace anywhere;
  private long nextPid = FIRST_PID;
  private long nextInode = 100;

  /**
   * A host that has just booted.
   *
   * @param spec what it is
   * @param clock its time
   * @param devices node of each device by PCI address; -1 for unknown
   */
  public SimHost(HostSpec spec, SimClock clock, Map<String, Integer> devices) {
    this.spec = spec;
    this.clock = clock;
    this.devices = Map.copyOf(devices);
    this.group = new Group(spec.cgroup());
    spec.nodes().forEach((number, node) -> freeBytes.put(number, node.memoryBytes()));
    spec.pools()
        .forEach(
            (pageBytes, pool) -> {
              PoolState state = new PoolState(pageBytes, pool.overcommitPages());
              pool.pagesPerNode()
                  .forEach(
                      (node, pages) -> {
                        state.total.put(node, pages);
                        state.free.put(node, pages);
                        long taken = Math.multiplyExact(pages, pageBytes);
                        if (taken > freeBytes(node)) {
                          throw new IllegalArgumentException(
                              "node " + node + " is too small for its pool of " + pageBytes);
                        }
                        freeBytes.merge(node, -taken, Long::sum);
                      });
              pools.put(pageBytes, state);
            });
    spec.nodes()
        .forEach(
            (number, node) -> node.cpus().forEach(cpu -> nodesOfCpus.putIfAbsent(cpu, number)));
    this.anywhere = new ThreadPlace(0, Set.of(), nodesOfCpus.keySet());
    int minor = 40;
    for (HostSpec.Mount mount : spec.mounts()) {
      fileSystems.add(new FileSystem(this, mount, minor++));
    }
  }

  /**
   * Starts a process.
   *
   * @return its host port
   */
  public SimHostKernel start() {
    lock.lock();
    try {
      SimHostKernel process = new SimHostKernel(this, nextPid++);
      processes.put(process.pid(), process);
      return process;
    } finally {
      lock.unlock();
    }
  }

  /**
   * What it is.
   *
   * @return the data it was made of
   */
  public HostSpec spec() {
    return spec;
  }

  // ---- counters, as the kernel's files show them

  /**
   * Free memory of a node, base pages.
   *
   * @param node which
   * @return bytes
   */
  public long freeBytes(int node) {
    lock.lock();
    try {
      return Optional.ofNullable(freeBytes.get(node)).orElse(0L);
    } finally {
      lock.unlock();
    }
  }

  /**
   * Huge pages that nobody has touched.
   *
   * @param pageBytes the page
   * @return pages, reserved ones included
   */
  public long freeHugePages(long pageBytes) {
    lock.lock();
    try {
      PoolState pool = pools.get(pageBytes);
      return pool == null ? 0 : pool.free();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Huge pages on a node that nobody has touched.
   *
   * @param node which
   * @param pageBytes the page
   * @return pages
   */
  public long freeHugePages(int node, long pageBytes) {
    lock.lock();
    try {
      PoolState pool = pools.get(pageBytes);
      return pool == null ? 0 : pool.free.getOrDefault(node, 0L);
    } finally {
      lock.unlock();
    }
  }

  /**
   * Huge pages that are promised to mappings.
   *
   * @param pageBytes the page
   * @return pages
   */
  public long reservedHugePages(long pageBytes) {
    lock.lock();
    try {
      PoolState pool = pools.get(pageBytes);
      return pool == null ? 0 : pool.reserved;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Names in a mounted folder.
   *
   * @param point where it is mounted
   * @return the names, in order
   */
  public List<String> names(String point) {
    lock.lock();
    try {
      return fileSystem(point).map(system -> List.copyOf(system.names.keySet())).orElse(List.of());
    } finally {
      lock.unlock();
    }
  }

  // ---- for processes; all with the lock held

  PoolState pool(long pageBytes) {
    PoolState pool = pools.get(pageBytes);
    if (pool == null) {
      throw new IllegalStateException("no pool of " + pageBytes);
    }
    return pool;
  }

  boolean hasPool(long pageBytes) {
    return pools.containsKey(pageBytes);
  }

  Map<Long, PoolState> pools() {
    return pools;
  }

  Group group() {
    return group;
  }

  Optional<FileSystem> fileSystem(String point) {
    return fileSystems.stream().filter(one -> one.mount.point().equals(point)).findFirst();
  }

  List<FileSystem> fileSystems() {
    return fileSystems;
  }

  long nextInode() {
    return nextInode++;
  }

  @Nullable SimHostKernel process(long pid) {
    return processes.get(pid);
  }

  void ended(SimHostKernel process) {
    processes.remove(process.pid());
  }

  long totalBytes(int node) {
    return Objects.requireNonNull(spec.nodes().get(node)).memoryBytes();
  }

  /** Nodes from near to far. */
  List<Integer> nearest(int from) {
    return nearest.computeIfAbsent(from, this::sorted);
  }

  private List<Integer> sorted(int from) {
    List<Integer> numbers = new ArrayList<>(spec.nodes().keySet());
    HostSpec.Node origin = spec.nodes().get(from);
    if (origin != null) {
      List<Integer> order = new ArrayList<>(spec.nodes().keySet());
      numbers.sort(
          (one, other) ->
              Integer.compare(
                  origin.distances().get(order.indexOf(one)),
                  origin.distances().get(order.indexOf(other))));
    }
    return List.copyOf(numbers);
  }

  /** The node that has a CPU. */
  OptionalInt nodeOfCpu(int cpu) {
    Integer node = nodesOfCpus.get(cpu);
    return node == null ? OptionalInt.empty() : OptionalInt.of(node);
  }

  /** Where a thread is that nobody has placed: on any CPU of any node. */
  ThreadPlace anywhere() {
    return anywhere;
  }

  /** How many pages can be had from a node. */
  long available(int node, long pageBytes, Source source) {
    return source == Source.POOL
        ? pool(pageBytes).free.getOrDefault(node, 0L)
        : freeBytes.getOrDefault(node, 0L) / pageBytes;
  }

  /** Takes pages from one node. */
  void take(int node, long pages, long pageBytes, Source source) {
    if (source == Source.POOL) {
      pool(pageBytes).free.merge(node, -pages, Long::sum);
    } else {
      freeBytes.merge(node, -pages * pageBytes, Long::sum);
    }
  }

  /** Gives pages back, surplus ones to their node. */
  void give(int node, long pages, long pageBytes, Source source) {
    if (source == Source.MEMORY) {
      freeBytes.merge(node, pages * pageBytes, Long::sum);
      return;
    }
    PoolState pool = pool(pageBytes);
    pool.free.merge(node, pages, Long::sum);
    pool.shrink(this);
  }

  /** Pages of a pool beyond its size, made of a node's memory; false where there is none. */
  boolean makeSurplus(long pages, long pageBytes) {
    PoolState pool = pool(pageBytes);
    if (pool.surplus() + pages > pool.overcommit) {
      return false;
    }
    long left = pages;
    Map<Integer, Long> made = new TreeMap<>();
    for (int node : spec.nodes().keySet()) {
      long here = Math.min(left, freeBytes.getOrDefault(node, 0L) / pageBytes);
      made.put(node, here);
      left -= here;
    }
    if (left > 0) {
      return false;
    }
    made.forEach(
        (node, here) -> {
          freeBytes.merge(node, -here * pageBytes, Long::sum);
          pool.surplus.merge(node, here, Long::sum);
          pool.total.merge(node, here, Long::sum);
          pool.free.merge(node, here, Long::sum);
        });
    return true;
  }

  /** Where pages come from. */
  enum Source {
    /** A pool of huge pages. */
    POOL,
    /** A node's memory. */
    MEMORY
  }

  /** A pool as it is now. */
  static final class PoolState {
    final long pageBytes;
    final long overcommit;
    final SortedMap<Integer, Long> total = new TreeMap<>();
    final SortedMap<Integer, Long> free = new TreeMap<>();
    final SortedMap<Integer, Long> surplus = new TreeMap<>();
    long reserved;

    PoolState(long pageBytes, long overcommit) {
      this.pageBytes = pageBytes;
      this.overcommit = overcommit;
    }

    long free() {
      return free.values().stream().mapToLong(Long::longValue).sum();
    }

    long total() {
      return total.values().stream().mapToLong(Long::longValue).sum();
    }

    long surplus() {
      return surplus.values().stream().mapToLong(Long::longValue).sum();
    }

    /** Gives surplus pages that nobody needs back to their nodes. */
    private void shrink(SimHost host) {
      for (int node : List.copyOf(surplus.keySet())) {
        long idle =
            Math.min(
                surplus.getOrDefault(node, 0L),
                Math.min(free.getOrDefault(node, 0L), free() - reserved));
        if (idle > 0) {
          surplus.merge(node, -idle, Long::sum);
          total.merge(node, -idle, Long::sum);
          free.merge(node, -idle, Long::sum);
          host.freeBytes.merge(node, idle * pageBytes, Long::sum);
        }
      }
    }
  }

  /** The group's account; with the lock held. */
  static final class Group {
    final HostSpec.Cgroup limits;
    private final Map<Long, Long> hugeBytes = new TreeMap<>();
    private final Map<Long, Long> reservedBytes = new TreeMap<>();
    private long memoryBytes;

    Group(HostSpec.Cgroup limits) {
      this.limits = limits;
    }

    long memoryBytes() {
      return memoryBytes;
    }

    long hugeBytes(long pageBytes) {
      return hugeBytes.getOrDefault(pageBytes, 0L);
    }

    long reservedBytes(long pageBytes) {
      return reservedBytes.getOrDefault(pageBytes, 0L);
    }

    long hugeRoom(long pageBytes) {
      Long most = limits.hugeBytes().get(pageBytes);
      return most == null ? Long.MAX_VALUE : Math.max(0, most - hugeBytes(pageBytes));
    }

    long reservedRoom(long pageBytes) {
      Long most = limits.reservedBytes().get(pageBytes);
      return most == null ? Long.MAX_VALUE : Math.max(0, most - reservedBytes(pageBytes));
    }

    long memoryRoom() {
      return limits.memoryBytes().isEmpty()
          ? Long.MAX_VALUE
          : Math.max(0, limits.memoryBytes().getAsLong() - memoryBytes);
    }

    void charge(long bytes, long pageBytes, Source source) {
      if (source == Source.POOL) {
        hugeBytes.merge(pageBytes, bytes, Long::sum);
      } else {
        memoryBytes += bytes;
      }
    }

    void reserve(long bytes, long pageBytes) {
      reservedBytes.merge(pageBytes, bytes, Long::sum);
    }
  }

  /** A mounted file system; with the lock held. */
  static final class FileSystem {
    final SimHost host;
    final HostSpec.Mount mount;
    final int minor;
    final SortedMap<String, Inode> names = new TreeMap<>();

    /** Bytes that files take, or have reserved. */
    long usedBytes;

    FileSystem(SimHost host, HostSpec.Mount mount, int minor) {
      this.host = host;
      this.mount = mount;
      this.minor = minor;
    }

    boolean isPool() {
      return mount.type() == HostSpec.FileSystemType.HUGETLBFS;
    }

    long roomBytes() {
      return mount.sizeBytes() == 0 ? Long.MAX_VALUE : mount.sizeBytes() - usedBytes;
    }

    /** How the kernel packs major 0 and the minor (linux/kdev_t.h, new_encode_dev). */
    long device() {
      return (minor & 0xff) | ((long) (minor & ~0xff) << 12);
    }

    List<String> sortedNames() {
      return Collections.unmodifiableList(new ArrayList<>(names.keySet()));
    }
  }
}
