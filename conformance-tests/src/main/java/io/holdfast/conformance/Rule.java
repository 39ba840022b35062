package io.holdfast.conformance;

import static io.holdfast.conformance.Profile.BATCH;
import static io.holdfast.conformance.Profile.CORE;
import static io.holdfast.conformance.Profile.EXPORT;
import static io.holdfast.conformance.Profile.HUGETLB;
import static io.holdfast.conformance.Profile.KERNEL;
import static io.holdfast.conformance.Profile.MULTIPROCESS;
import static io.holdfast.conformance.Profile.NUMA;
import static io.holdfast.conformance.Profile.SIMULATION;
import static io.holdfast.conformance.Profile.STREAMS;
import static io.holdfast.conformance.Profile.VMM;
import static io.holdfast.conformance.Strength.MUST;
import static io.holdfast.conformance.Strength.SHOULD;

/**
 * What every backend keeps. Ids are for ever; a rule that falls is not replaced by another.
 *
 * <p>This is the catalogue: {@code docs/conformance.md} is written from it.
 */
public enum Rule {
  /** Mapped bytes are the logical bytes rounded up to the backing page, never a page more. */
  MAP_01(
      CORE,
      MUST,
      "mapped bytes are the logical bytes rounded up to the backing page, never a page more",
      "pytorch#95823, pytorch#150517"),
  /** A view shows exactly the logical bytes. */
  MAP_02(CORE, MUST, "a view shows exactly the logical bytes", "vllm#58852, vllm#47363"),
  /** Zero or fewer bytes are an argument error. */
  MAP_03(CORE, MUST, "zero or fewer bytes are an argument error", "FreeToken#56"),
  /** New memory reads as zeros. */
  MAP_04(CORE, MUST, "new memory reads as zeros", "docs: architecture"),
  /** Use after close is an IllegalStateException. */
  MAP_05(CORE, MUST, "use after close is an IllegalStateException", "LMCache#5177"),
  /**
   * What cannot be had is refused with every limit and a remedy, before the first touch, and
   * nothing stays mapped.
   */
  MAP_06(
      CORE,
      MUST,
      "what cannot be had is refused with every limit and a remedy, before the first touch, and"
          + " nothing stays mapped",
      "ninfer-3090#25, ikawrakow/ik_llama.cpp#1533"),
  /** Asking what would be missing maps nothing and says what map says. */
  MAP_07(
      CORE,
      MUST,
      "asking what would be missing maps nothing and says what map says",
      "sglang#35048"),
  /** No view is given before every page is there. */
  MAP_08(CORE, MUST, "no view is given before every page is there", "cloud-hypervisor#5730"),
  /** Memory is kept from children before it is populated. */
  MAP_09(
      CORE,
      MUST,
      "memory is kept from children before it is populated",
      "rdma-core#767, libfabric#5215"),
  /** A slice shares its region's bytes and starts on a backing page. */
  MAP_10(
      CORE, MUST, "a slice shares its region's bytes and starts on a backing page", "FlexKV#259"),
  /** Adopted memory is left to its owner. */
  MAP_11(CORE, MUST, "adopted memory is left to its owner", "FlexKV#259"),
  /** A receipt that accounts for pages accounts for every mapped byte. */
  MAP_12(
      CORE, MUST, "a receipt that accounts for pages accounts for every mapped byte", "vllm#53042"),
  /** A wish for transparent huge pages changes no size, and the receipt says what came of it. */
  MAP_13(
      CORE,
      MUST,
      "a wish for transparent huge pages changes no size, and the receipt says what came of it",
      "TensorRT-LLM#15431, mori#679"),
  /** What was mapped is unmapped, whole and once. */
  MAP_14(CORE, MUST, "what was mapped is unmapped, whole and once", "LMCache#2643"),
  /** Registered bytes are whole backing pages, the last one included. */
  REG_01(
      CORE, MUST, "registered bytes are whole backing pages, the last one included", "vllm#60130"),
  /** Ranges tile the memory in order, none above the cap. */
  REG_02(CORE, MUST, "ranges tile the memory in order, none above the cap", "vllm#51080"),
  /** A pin that overlaps another is refused and changes nothing. */
  REG_03(
      CORE,
      MUST,
      "a pin that overlaps another is refused and changes nothing",
      "rocm-systems#7498"),
  /** What was pinned and closed can be pinned again. */
  REG_04(CORE, MUST, "what was pinned and closed can be pinned again", "LMCache#5177"),
  /** A plan that cannot be is an error before any call is made. */
  REG_05(CORE, MUST, "a plan that cannot be is an error before any call is made", "vllm#60130"),
  /** The driver is asked for exactly the planned ranges, in ascending order. */
  REG_06(
      CORE,
      MUST,
      "the driver is asked for exactly the planned ranges, in ascending order",
      "vllm#51080"),
  /** No call exceeds the cap that the caller gives or the driver declares. */
  REG_07(
      CORE,
      MUST,
      "no call exceeds the cap that the caller gives or the driver declares",
      "vllm#51080, open-gpu-kernel-modules#1234"),
  /** What was registered is unregistered, exactly and in reverse order. */
  REG_08(
      CORE,
      MUST,
      "what was registered is unregistered, exactly and in reverse order",
      "sglang#38832"),
  /** No page is unmapped while it is registered. */
  REG_09(CORE, MUST, "no page is unmapped while it is registered", "LMCache#5177, dora#2934"),
  /**
   * Each range is seen by the device where the driver says, and nowhere is the host's address
   * assumed.
   */
  REG_10(
      CORE,
      MUST,
      "each range is seen by the device where the driver says, and nowhere is the host's address"
          + " assumed",
      "iree#23779"),
  /** Parts of one region can be pinned apart. */
  REG_11(CORE, MUST, "parts of one region can be pinned apart", "FlexKV#259"),
  /** A slot above the watermark is refused, and nothing is submitted. */
  REG_12(
      CORE,
      MUST,
      "a slot above the watermark is refused, and nothing is submitted",
      "LMCache#4018, rtx6kpro#46"),
  /** Pinning pauses between calls, goes on, and can be cancelled; what is pinned stays usable. */
  REG_13(
      CORE,
      MUST,
      "pinning pauses between calls, goes on, and can be cancelled; what is pinned stays usable",
      "vllm#42632"),
  /** The watermark is never above what is registered. */
  REG_14(CORE, MUST, "the watermark is never above what is registered", "rtx6kpro#46"),
  /** A cap below one backing page is refused without asking the driver. */
  REG_15(
      CORE,
      MUST,
      "a cap below one backing page is refused without asking the driver",
      "TensorRT-LLM#17773"),
  /** No page is registered before it is populated. */
  REG_16(CORE, MUST, "no page is registered before it is populated", "TensorRT-LLM#17429"),
  /**
   * Registering never waits inside populate: the first slot is usable before the last page is
   * there.
   */
  REG_17(
      CORE,
      MUST,
      "registering never waits inside populate: the first slot is usable before the last page is"
          + " there",
      "dynamo#13710"),
  /** Blocks come back byte by byte, for odd sizes too. */
  CPY_01(CORE, MUST, "blocks come back byte by byte, for odd sizes too", "vllm#44341"),
  /** A block that lies over a cut comes back byte by byte. */
  CPY_02(CORE, MUST, "a block that lies over a cut comes back byte by byte", "sglang#36798"),
  /** An empty list of pairs is a no-op that is done. */
  CPY_03(CORE, MUST, "an empty list of pairs is a no-op that is done", "vllm#38460"),
  /** An id out of range is refused with its pair, and nothing is submitted. */
  CPY_04(
      CORE,
      MUST,
      "an id out of range is refused with its pair, and nothing is submitted",
      "vllm#39491"),
  /** A destination named twice is refused, and nothing is submitted. */
  CPY_05(
      CORE, MUST, "a destination named twice is refused, and nothing is submitted", "vllm#47282"),
  /** Sides of different shape are refused. */
  CPY_06(CORE, MUST, "sides of different shape are refused", "vllm#38460"),
  /** Neighbours on both sides merge into one descriptor, upwards and downwards. */
  CPY_07(
      CORE,
      MUST,
      "neighbours on both sides merge into one descriptor, upwards and downwards",
      "vllm#38460"),
  /** The report counts what was moved. */
  CPY_08(CORE, MUST, "the report counts what was moved", "docs: architecture"),
  /** Layouts may differ: blocks are reshaped on the way. */
  CPY_09(CORE, MUST, "layouts may differ: blocks are reshaped on the way", "vllm#38460"),
  /** A list of pairs can be changed as soon as the submission returned. */
  CPY_10(
      CORE,
      MUST,
      "a list of pairs can be changed as soon as the submission returned",
      "TensorRT-LLM#15546"),
  /** A submission does not wait for the device. */
  CPY_11(CORE, MUST, "a submission does not wait for the device", "hip#2291"),
  /** A completion is not done before the device has passed it. */
  CPY_12(CORE, MUST, "a completion is not done before the device has passed it", "LMCache#5169"),
  /** A decision that was explained is the one that is taken. */
  CPY_13(CORE, MUST, "a decision that was explained is the one that is taken", "vllm#53860"),
  /** No byte beside the blocks is touched, padding included. */
  CPY_14(CORE, MUST, "no byte beside the blocks is touched, padding included", "sglang#36798"),
  /** No copy lies over two registrations, on any path. */
  CPY_15(
      CORE, MUST, "no copy lies over two registrations, on any path", "sglang#36798, CUDA.jl#258"),
  /** Slots in memory that is not pinned give the same bytes. */
  CPY_16(CORE, MUST, "slots in memory that is not pinned give the same bytes", "hip#2291"),
  /** The device's time is told where it was asked for, and only there. */
  CPY_17(
      CORE,
      MUST,
      "the device's time is told where it was asked for, and only there",
      "nvbandwidth#53"),
  /** A submission in steady state allocates nothing on the Java heap. */
  CPY_18(
      CORE,
      SHOULD,
      "a submission in steady state allocates nothing on the Java heap",
      "docs: architecture"),
  /** A completion can be used again once it is done, and not before. */
  CPY_19(
      CORE,
      MUST,
      "a completion can be used again once it is done, and not before",
      "docs: architecture"),
  /** No copy runs on a default stream. */
  CPY_20(CORE, MUST, "no copy runs on a default stream", "vllm#46379"),
  /** What is ordered after a copy sees its bytes. */
  ORD_01(CORE, MUST, "what is ordered after a copy sees its bytes", "vllm#47282"),
  /** Waiting for an event that was never recorded is refused. */
  ORD_02(CORE, MUST, "waiting for an event that was never recorded is refused", "docs: spi"),
  /** A copy after a stream waits for that stream's work on the device, not on the host. */
  ORD_03(
      CORE,
      MUST,
      "a copy after a stream waits for that stream's work on the device, not on the host",
      "vllm#45704"),
  /** What comes to a stream after a load that was ordered as if on it waits for the load. */
  ORD_04(
      CORE,
      MUST,
      "what comes to a stream after a load that was ordered as if on it waits for the load",
      "vllm#47282, rtx6kpro#47"),
  /** An event that was recorded orders a copy behind it. */
  ORD_05(CORE, MUST, "an event that was recorded orders a copy behind it", "rtx6kpro#47"),
  /** Two orders are both waited for. */
  ORD_06(CORE, MUST, "two orders are both waited for", "rtx6kpro#47"),
  /** A load waits for the store that fills its slot, without being told. */
  SLT_01(
      CORE,
      MUST,
      "a load waits for the store that fills its slot, without being told",
      "TensorRT-LLM#15546"),
  /** A copy that conflicts with a lease is refused. */
  SLT_02(CORE, MUST, "a copy that conflicts with a lease is refused", "TensorRT-LLM#15546"),
  /** A read lease cannot be written through. */
  SLT_03(CORE, MUST, "a read lease cannot be written through", "docs: architecture"),
  /** A lease's bytes cannot be used once it is closed. */
  SLT_04(CORE, MUST, "a lease's bytes cannot be used once it is closed", "docs: architecture"),
  /** A lease is refused while a conflicting copy is in flight. */
  SLT_05(
      CORE, MUST, "a lease is refused while a conflicting copy is in flight", "TensorRT-LLM#15546"),
  /** A store into a slot waits for the loads that still read it. */
  SLT_06(
      CORE,
      MUST,
      "a store into a slot waits for the loads that still read it",
      "TensorRT-LLM#15546"),
  /** Close is refused while a lease is out, with nothing undone. */
  CLS_01(
      CORE,
      MUST,
      "close is refused while a lease is out, with nothing undone",
      "docs/decisions/0007"),
  /** Close is refused while a hold is out, with nothing undone. */
  CLS_02(
      CORE,
      MUST,
      "close is refused while a hold is out, with nothing undone",
      "docs/decisions/0007"),
  /** Closing a device or a backend closes what was opened from it. */
  CLS_03(
      CORE,
      MUST,
      "closing a device or a backend closes what was opened from it",
      "docs/decisions/0007"),
  /** Closing twice is closing once. */
  CLS_04(CORE, MUST, "closing twice is closing once", "docs/decisions/0007"),
  /** Close waits for copies in flight before it unregisters. */
  CLS_05(CORE, MUST, "close waits for copies in flight before it unregisters", "vllm#34600"),
  /** Things come down newest first: copies, pins, pages, device, driver. */
  CLS_06(
      CORE,
      MUST,
      "things come down newest first: copies, pins, pages, device, driver",
      "docs/decisions/0007"),
  /** Views are gone before their pages are. */
  CLS_07(CORE, MUST, "views are gone before their pages are", "docs: architecture"),
  /** Everything taken from the ports is given back. */
  CLS_08(CORE, MUST, "everything taken from the ports is given back", "cuda-python#2884"),
  /** Many virtual threads copy at once through one pool. */
  THR_01(CORE, MUST, "many virtual threads copy at once through one pool", "jcuda#20"),
  /** A virtual thread that waits holds no carrier. */
  THR_02(CORE, MUST, "a virtual thread that waits holds no carrier", "docs: architecture"),
  /** Driver calls that can block run on platform threads only. */
  THR_03(
      CORE, MUST, "driver calls that can block run on platform threads only", "TensorRT-LLM#17429"),
  /** Things may be closed by another thread than the one that opened them. */
  THR_04(
      CORE,
      MUST,
      "things may be closed by another thread than the one that opened them",
      "jcuda#20"),
  /** A driver call on a virtual thread never leaves its carrier: nothing blocks inside. */
  THR_05(
      CORE,
      MUST,
      "a driver call on a virtual thread never leaves its carrier: no lock is taken inside",
      "docs: spi"),
  /** Memory that the driver does not know cannot be wrapped. */
  DEV_01(CORE, MUST, "memory that the driver does not know cannot be wrapped", "iree#23779"),
  /** Devices are counted from 0, have a name and memory, and no other can be opened. */
  DEV_02(
      CORE,
      MUST,
      "devices are counted from 0, have a name and memory, and no other can be opened",
      "torchtitan#3519"),
  /** A device can be opened twice, and each is closed for itself. */
  DEV_03(
      CORE, MUST, "a device can be opened twice, and each is closed for itself", "Mooncake#2034"),
  /** More device memory than there is is refused with the driver's code, and nothing is lost. */
  DEV_04(
      CORE,
      MUST,
      "more device memory than there is is refused with the driver's code, and nothing is lost",
      "xla#20633"),
  /** A device segment keeps its bounds. */
  DEV_05(CORE, MUST, "a device segment keeps its bounds", "vllm#47363"),
  /** What is pinned once serves every open device of the backend. */
  DEV_06(CORE, MUST, "what is pinned once serves every open device of the backend", "iree#23779"),
  /**
   * Memory that is allocated is missing from what the driver calls free, or no more is free than
   * there is.
   */
  DEV_07(
      CORE,
      MUST,
      "memory that is allocated is missing from what the driver calls free, or no more is free than"
          + " there is",
      "cuda-python#2884"),
  /** A capability is claimed exactly where the driver has the code. */
  CAP_01(
      CORE,
      MUST,
      "a capability is claimed exactly where the driver has the code",
      "UCX gtest, Gateway API"),
  /** Limits that are claimed are those of the driver. */
  CAP_02(CORE, MUST, "limits that are claimed are those of the driver", "Gateway API"),
  /** What is not claimed is refused with UnsupportedException, and nothing is changed. */
  CAP_03(
      CORE,
      MUST,
      "what is not claimed is refused with UnsupportedException, and nothing is changed",
      "UCX gtest"),
  /** Where equal addresses are claimed they are equal. */
  CAP_04(CORE, MUST, "where equal addresses are claimed they are equal", "iree#23779"),
  /** What is claimed works: no capability is an empty promise. */
  CAP_05(
      CORE, MUST, "what is claimed works: no capability is an empty promise", "modelexpress#600"),
  /** Unregistering what is not registered is refused and named as such. */
  PRT_01(
      CORE, MUST, "unregistering what is not registered is refused and named as such", "dora#2934"),
  /** No allocation is found where there is none, and the whole one where there is. */
  PRT_02(
      CORE,
      MUST,
      "no allocation is found where there is none, and the whole one where there is",
      "iree#23779"),
  /** A fill sets every byte, in stream order, and nothing beside them. */
  PRT_03(
      CORE, MUST, "a fill sets every byte, in stream order, and nothing beside them", "docs: spi"),
  /** An event that was awaited has passed, and time between two does not run backwards. */
  PRT_04(
      CORE,
      MUST,
      "an event that was awaited has passed, and time between two does not run backwards",
      "docs: spi"),
  /** A device's port can be closed twice. */
  PRT_05(CORE, MUST, "a device's port can be closed twice", "docs: spi"),
  /** What the driver refuses has the driver's number, its name for it, and the call. */
  PRT_06(
      CORE,
      MUST,
      "what the driver refuses has the driver's number, its name for it, and the call",
      "vllm#51080, maru#64"),
  /** A refused call leaves no error behind for the next. */
  PRT_07(CORE, MUST, "a refused call leaves no error behind for the next", "vllm#51080, maru#64"),
  /** The provider has a plain id, a known version, and loads nothing when it is made. */
  DSC_01(
      CORE,
      MUST,
      "the provider has a plain id, a known version, and loads nothing when it is made",
      "jcuda#46"),
  /** Probing twice says the same, and says what opening finds. */
  DSC_02(CORE, MUST, "probing twice says the same, and says what opening finds", "jcuda#46"),
  /** A variant that is not there is refused with those that are. */
  DSC_03(CORE, MUST, "a variant that is not there is refused with those that are", "docs: spi"),
  /** The transcript says what was chosen and why. */
  DSC_04(CORE, MUST, "the transcript says what was chosen and why", "docs/decisions/0008"),
  /** An error has a kind, the call, the numbers and what to do. */
  ERR_01(
      CORE, MUST, "an error has a kind, the call, the numbers and what to do", "style of errors"),
  /** An argument error changes nothing. */
  ERR_02(CORE, MUST, "an argument error changes nothing", "style of errors"),
  /** Registered bytes are the sum of the ranges and of the driver's calls. */
  ACC_01(
      CORE,
      MUST,
      "registered bytes are the sum of the ranges and of the driver's calls",
      "vllm#53042"),
  /** What is open is named, and nothing else. */
  ACC_02(CORE, MUST, "what is open is named, and nothing else", "docs: architecture"),
  /** A fallback is an event of the flight recorder. */
  EVT_01(CORE, SHOULD, "a fallback is an event of the flight recorder", "docs: architecture"),
  /** Mapped, registered and copied bytes are counted as the ports were asked for them. */
  EVT_02(
      CORE,
      SHOULD,
      "mapped, registered and copied bytes are counted as the ports were asked for them",
      "vllm#53042"),
  /** What is recorded adds up to what is counted. */
  EVT_03(CORE, SHOULD, "what is recorded adds up to what is counted", "docs: architecture"),
  /** A refused call is counted as a failure, without bytes, and so is a quarantine. */
  EVT_04(
      CORE,
      SHOULD,
      "a refused call is counted as a failure, without bytes; what is in quarantine is counted",
      "LMCache#5177"),
  /** A region on huge pages is whole pages of that size, by the kernel's account. */
  HUG_01(
      HUGETLB,
      MUST,
      "a region on huge pages is whole pages of that size, by the kernel's account",
      "libevpl#83"),
  /** A page size that the kernel lacks is refused, and nothing else is given instead. */
  HUG_02(
      HUGETLB,
      MUST,
      "a page size that the kernel lacks is refused, and nothing else is given instead",
      "libevpl#83, Mooncake#2417"),
  /**
   * A pool that is too small is named with what is needed and what is there, before the first
   * touch.
   */
  HUG_03(
      HUGETLB,
      MUST,
      "a pool that is too small is named with what is needed and what is there, before the first"
          + " touch",
      "Mooncake#1123"),
  /** Registrations on huge pages are whole huge pages. */
  HUG_04(HUGETLB, MUST, "registrations on huge pages are whole huge pages", "vllm#60130"),
  /** Blocks come back from huge pages. */
  HUG_05(HUGETLB, MUST, "blocks come back from huge pages", "sglang#32171"),
  /** Closing gives the pages back to the pool. */
  HUG_06(HUGETLB, MUST, "closing gives the pages back to the pool", "LMCache#2643"),
  /** Bound pages lie on their node, each of them, by the kernel's account. */
  NUM_01(
      NUMA,
      MUST,
      "bound pages lie on their node, each of them, by the kernel's account",
      "dynamo#13710"),
  /** A node that is not there is refused by name and never trimmed from the mask. */
  NUM_02(
      NUMA,
      MUST,
      "a node that is not there is refused by name and never trimmed from the mask",
      "UMF#149"),
  /** Interleaved pages lie on all their nodes, evenly. */
  NUM_03(NUMA, MUST, "interleaved pages lie on all their nodes, evenly", "colibri#82"),
  /** Memory nearest to a device lies on that device's node. */
  NUM_04(NUMA, MUST, "memory nearest to a device lies on that device's node", "vllm#38635"),
  /** The receipt's bytes per node are the kernel's. */
  NUM_05(NUMA, MUST, "the receipt's bytes per node are the kernel's", "vllm#55416"),
  /** /proc/self/numa_maps agrees with what was asked. */
  NUM_06(NUMA, MUST, "/proc/self/numa_maps agrees with what was asked", "vllm#55416, numactl#62"),
  /** Inherited placement makes no policy call. */
  NUM_07(NUMA, MUST, "inherited placement makes no policy call", "containerd#13610"),
  /** Each node can be bound, not only the first. */
  NUM_08(NUMA, MUST, "each node can be bound, not only the first", "vllm#39361"),
  /** Where no policy can be set, a binding is refused and nothing is mapped. */
  NUM_09(
      NUMA,
      MUST,
      "where no policy can be set, a binding is refused and nothing is mapped",
      "vllm#55416"),
  /** Blocks that go in one driver call come back byte by byte. */
  BAT_01(
      BATCH, MUST, "blocks that go in one driver call come back byte by byte", "rocm-systems#2663"),
  /** No call has more rows than the driver takes or the caller wants. */
  BAT_02(
      BATCH,
      MUST,
      "no call has more rows than the driver takes or the caller wants",
      "clr#273, vllm#49276"),
  /** A batch never lies over two registrations. */
  BAT_03(BATCH, MUST, "a batch never lies over two registrations", "sglang#36798"),
  /** Regular rows in one call come back byte by byte, within the driver's pitch. */
  BAT_04(
      BATCH,
      MUST,
      "regular rows in one call come back byte by byte, within the driver's pitch",
      "vllm#38460"),
  /** A refused batch names its row where the driver does, and the row is the table's. */
  BAT_05(
      BATCH,
      MUST,
      "a refused batch names its row where the driver does, and the row is the table's",
      "sglang#28396"),
  /** The device's cores copy any size and alignment, byte by byte. */
  KER_01(
      KERNEL, MUST, "the device's cores copy any size and alignment, byte by byte", "vllm#44341"),
  /** No more thread blocks are taken than allowed. */
  KER_02(KERNEL, MUST, "no more thread blocks are taken than allowed", "docs: architecture"),
  /** The device's cores are given host addresses as the device sees them. */
  KER_03(
      KERNEL,
      MUST,
      "the device's cores are given host addresses as the device sees them",
      "iree#23779"),
  /** An engine's stream orders copies by its handle. */
  STR_01(STREAMS, MUST, "an engine's stream orders copies by its handle", "vllm#45704"),
  /** A default stream's handle is refused as an engine's stream. */
  STR_02(STREAMS, MUST, "a default stream's handle is refused as an engine's stream", "vllm#46379"),
  /** A wrapped stream or event is left to its owner. */
  STR_03(STREAMS, MUST, "a wrapped stream or event is left to its owner", "jcuda#20"),
  /** The default stream, by its name, is a point of order. */
  STR_04(STREAMS, MUST, "the default stream, by its name, is a point of order", "vllm#46379"),
  /** An engine's event orders copies by its handle. */
  STR_05(STREAMS, MUST, "an engine's event orders copies by its handle", "rtx6kpro#47"),
  /** The thread's context is as it was after every call. */
  STR_06(
      STREAMS,
      MUST,
      "the thread's context is as it was after every call",
      "Mooncake#2034, Mooncake#3177"),
  /** A stream from which a graph is captured is refused, and the capture is not broken. */
  STR_07(
      STREAMS,
      MUST,
      "a stream from which a graph is captured is refused, and the capture is not broken",
      "vllm#45704"),
  /** Copies beside a capture of another thread or stream do not break it. */
  STR_08(
      STREAMS,
      MUST,
      "copies beside a capture of another thread or stream do not break it",
      "jcuda#20"),
  /** An engine's context can be used and is not destroyed. */
  STR_09(STREAMS, MUST, "an engine's context can be used and is not destroyed", "Mooncake#2034"),
  /** A stream of another context of the device orders copies. */
  STR_10(STREAMS, MUST, "a stream of another context of the device orders copies", "Mooncake#3177"),
  /** Reserving takes addresses and no memory. */
  VMM_01(VMM, MUST, "reserving takes addresses and no memory", "vllm#47363"),
  /** Growing keeps address and contents, and new blocks are zero. */
  VMM_02(VMM, MUST, "growing keeps address and contents, and new blocks are zero", "vllm#47363"),
  /** Shrinking raises the epoch, and its views are stale. */
  VMM_03(VMM, MUST, "shrinking raises the epoch, and its views are stale", "nixl#1126"),
  /** Physical bytes are whole granules under the committed blocks, in every segment. */
  VMM_04(
      VMM,
      MUST,
      "physical bytes are whole granules under the committed blocks, in every segment",
      "vllm#47363"),
  /** Sealing fixes the size: it neither grows nor shrinks afterwards. */
  VMM_05(VMM, MUST, "sealing fixes the size: it neither grows nor shrinks afterwards", "ucx#11283"),
  /** Sleep gives memory back and keeps the address; wake zeroes and raises the epoch. */
  VMM_06(
      VMM,
      MUST,
      "sleep gives memory back and keeps the address; wake zeroes and raises the epoch",
      "torch_memory_saver#88"),
  /** A consolidated region has one physical allocation for each segment, and its contents. */
  VMM_07(
      VMM,
      MUST,
      "a consolidated region has one physical allocation for each segment, and its contents",
      "ucx#11283"),
  /** Who listens is told before pages go, and can stop it. */
  VMM_08(VMM, MUST, "who listens is told before pages go, and can stop it", "nixl#1126"),
  /** Copies go to blocks that are committed and to no others. */
  VMM_09(VMM, MUST, "copies go to blocks that are committed and to no others", "vllm#47363"),
  /** More than the capacity is refused, and nothing is changed. */
  VMM_10(VMM, MUST, "more than the capacity is refused, and nothing is changed", "surogate#117"),
  /** Closing gives pages, handles and addresses back. */
  VMM_11(
      VMM,
      MUST,
      "closing gives pages, handles and addresses back",
      "cuda-python#2884, ROCR-Runtime#257"),
  /** A commit of which one call fails changes nothing. */
  VMM_12(
      VMM, MUST, "a commit of which one call fails changes nothing", "surogate#117, Mooncake#2380"),
  /** What support says is what reserving does. */
  VMM_13(VMM, MUST, "what support says is what reserving does", "modelexpress#600"),
  /** Exporting before the size is final is refused. */
  EXP_01(EXPORT, MUST, "exporting before the size is final is refused", "ucx#11283"),
  /** What is imported by descriptor has the exporter's bytes. */
  EXP_02(EXPORT, MUST, "what is imported by descriptor has the exporter's bytes", "ucx#11550"),
  /** Memory not made for sharing is not exported. */
  EXP_03(EXPORT, MUST, "memory not made for sharing is not exported", "modelexpress#600"),
  /** An open export holds the pages. */
  EXP_04(EXPORT, MUST, "an open export holds the pages", "ucx#11461"),
  /** An export has one handle for each segment, of the segment's whole size. */
  EXP_05(
      EXPORT,
      MUST,
      "an export has one handle for each segment, of the segment's whole size",
      "ucx#11461"),
  /** A descriptor of hostile text is refused before anything is opened. */
  EXP_06(
      EXPORT,
      MUST,
      "a descriptor of hostile text is refused before anything is opened",
      "Mooncake#4110"),
  /** Handles across hosts are given where the driver has them, and refused where not. */
  EXP_07(
      EXPORT,
      MUST,
      "handles across hosts are given where the driver has them, and refused where not",
      "vllm#29569"),
  /** A dma-buf covers whole host pages around the range. */
  EXP_08(EXPORT, MUST, "a dma-buf covers whole host pages around the range", "torchcomms#1354"),
  /** Ranks that share memory see one another's bytes. */
  MPR_01(MULTIPROCESS, MUST, "ranks that share memory see one another's bytes", "vllm#52596"),
  /** What a killed process shared is reaped, and only that. */
  MPR_02(
      MULTIPROCESS,
      MUST,
      "what a killed process shared is reaped, and only that",
      "vllm#51579, vllm#57303"),
  /** A child does not disturb pinned memory. */
  MPR_03(
      MULTIPROCESS, MUST, "a child does not disturb pinned memory", "rdma-core#767, gvisor#14031"),
  /** Ranks that ask for different things are told, and nothing stays behind. */
  MPR_04(
      MULTIPROCESS,
      MUST,
      "ranks that ask for different things are told, and nothing stays behind",
      "vllm#51579"),
  /** A rank that waits in vain is told who was there. */
  MPR_05(MULTIPROCESS, MUST, "a rank that waits in vain is told who was there", "vllm#51579"),
  /** A refused range takes all ranges back, in reverse, and is named with the driver's answer. */
  FLT_01(
      SIMULATION,
      MUST,
      "a refused range takes all ranges back, in reverse, and is named with the driver's answer",
      "vllm#51081, sglang#38832"),
  /** After a refusal the same memory can be pinned. */
  FLT_02(SIMULATION, MUST, "after a refusal the same memory can be pinned", "maru#64"),
  /** A range whose unregister failed is in quarantine, and its pages stay mapped. */
  FLT_03(
      SIMULATION,
      MUST,
      "a range whose unregister failed is in quarantine, and its pages stay mapped",
      "LMCache#5177"),
  /** A quarantined range is given back once the driver takes it. */
  FLT_04(
      SIMULATION,
      MUST,
      "a quarantined range is given back once the driver takes it",
      "LMCache#5177"),
  /** Halving goes down along legal cuts and is visible. */
  FLT_05(SIMULATION, MUST, "halving goes down along legal cuts and is visible", "sglang#39744"),
  /** Where what worked is kept, slots beyond it are refused. */
  FLT_06(
      SIMULATION, MUST, "where what worked is kept, slots beyond it are refused", "LMCache#4018"),
  /** A range that somebody else registered is told apart. */
  FLT_07(
      SIMULATION,
      MUST,
      "a range that somebody else registered is told apart",
      "checkpoint-engine#67"),
  /** A refused copy is told with the driver's answer, and its slots are usable afterwards. */
  FLT_08(
      SIMULATION,
      MUST,
      "a refused copy is told with the driver's answer, and its slots are usable afterwards",
      "sglang#36798"),
  /** A failed populate is an error of map, and nothing stays mapped. */
  FLT_09(
      SIMULATION,
      MUST,
      "a failed populate is an error of map, and nothing stays mapped",
      "vllm#44913, vllm#54002"),
  /** Wherever one driver call fails as a pool is made and used, it is told and nothing is left. */
  FLT_10(
      SIMULATION,
      MUST,
      "wherever one driver call fails as a pool is made and used, it is told and nothing is left",
      "surogate#117"),
  /** A refused mapping is told with the kernel's answer, and nothing is left. */
  FLT_11(
      SIMULATION,
      MUST,
      "a refused mapping is told with the kernel's answer, and nothing is left",
      "vllm#54002"),
  /** A device that is lost is told as such. */
  FLT_12(SIMULATION, MUST, "a device that is lost is told as such", "docs: spi"),
  /** A slow driver call is not made under a budget that it breaks: calls shrink. */
  FLT_13(
      SIMULATION,
      MUST,
      "a slow driver call is not made under a budget that it breaks: calls shrink",
      "TensorRT-LLM#17429");

  private final Profile profile;
  private final Strength strength;
  private final String statement;
  private final String evidence;

  Rule(Profile profile, Strength strength, String statement, String evidence) {
    this.profile = profile;
    this.strength = strength;
    this.statement = statement;
    this.evidence = evidence;
  }

  /**
   * The rule's name in reports.
   *
   * @return for example {@code REG-03}
   */
  public String id() {
    return name().replace('_', '-');
  }

  /**
   * Which profile it belongs to.
   *
   * @return the profile
   */
  public Profile profile() {
    return profile;
  }

  /**
   * How much it counts.
   *
   * @return the strength
   */
  public Strength strength() {
    return strength;
  }

  /**
   * The rule in one sentence.
   *
   * @return without a full stop
   */
  public String statement() {
    return statement;
  }

  /**
   * What taught it: public reports by project and number, or a document of ours.
   *
   * @return a few words
   */
  public String evidence() {
    return evidence;
  }
}
