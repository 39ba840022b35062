package io.holdfast.bench.doctor;

import io.holdfast.bench.tool.ByteCount;
import io.holdfast.device.DeviceInfo;
import io.holdfast.error.UnsupportedException;
import io.holdfast.host.HostRequest;
import io.holdfast.host.HostSurvey;
import io.holdfast.host.NumaPolicy;
import io.holdfast.host.PageKind;
import io.holdfast.host.PageSource;
import io.holdfast.host.Shortfall.Limit;
import io.holdfast.layout.Bytes;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * A need against a host, by the same check that a page source makes before it maps.
 *
 * @param feasible whether nothing binds
 * @param beyondMemory whether it is more than there is in all, so that no command helps
 * @param summary one sentence
 * @param totalBytes all ranks' mapped bytes
 * @param places each place that ranks share
 * @param limits every limit that binds, each once, with the most that is missing
 * @param refusals what this host cannot do at all, with the remedy
 */
record Judgement(
    boolean feasible,
    boolean beyondMemory,
    String summary,
    long totalBytes,
    List<Place> places,
    List<Limit> limits,
    List<Refusal> refusals) {

  /**
   * One place that ranks share.
   *
   * @param numa for people
   * @param nodes the nodes, empty for wherever the kernel puts it
   * @param ranks how many
   * @param neededBytes theirs together, in whole pages
   * @param feasible whether the place alone can give it
   */
  record Place(String numa, Set<Integer> nodes, int ranks, long neededBytes, boolean feasible) {}

  /**
   * What cannot be had here at all.
   *
   * @param text what and why
   * @param remedy what to do
   */
  record Refusal(String text, String remedy) {}

  static Judgement of(Need need, PageSource source, HostSurvey survey, List<DeviceInfo> devices) {
    Map<NumaPolicy, Integer> ranks = new LinkedHashMap<>();
    for (int rank = 0; rank < need.ranks(); rank++) {
      ranks.merge(need.placeOf(rank, devices), 1, Integer::sum);
    }
    long perRank = Bytes.roundUp(need.bytesPerRank(), pageBytes(need.pages(), survey));
    Map<String, Limit> limits = new LinkedHashMap<>();
    Map<String, Refusal> refusals = new LinkedHashMap<>();
    List<Place> places = new ArrayList<>();
    for (Map.Entry<NumaPolicy, Integer> group : ranks.entrySet()) {
      long bytes = Math.multiplyExact(perRank, group.getValue());
      boolean fits = check(need, source, group.getKey(), bytes, limits, refusals);
      places.add(
          new Place(
              describe(group.getKey()), nodes(group.getKey()), group.getValue(), bytes, fits));
    }
    long total = Math.multiplyExact(perRank, need.ranks());
    if (places.size() > 1 && refusals.isEmpty()) {
      check(need, source, NumaPolicy.inherit(), total, limits, refusals);
    }
    List<Limit> beyond = limits.isEmpty() ? List.of() : beyond(need, survey, places, total);
    List<Limit> all = new ArrayList<>(beyond);
    all.addAll(limits.values());
    boolean feasible = all.isEmpty() && refusals.isEmpty();
    return new Judgement(
        feasible,
        !beyond.isEmpty(),
        summary(need, total, all, refusals),
        total,
        places,
        List.copyOf(all),
        List.copyOf(refusals.values()));
  }

  private static boolean check(
      Need need,
      PageSource source,
      NumaPolicy policy,
      long bytes,
      Map<String, Limit> limits,
      Map<String, Refusal> refusals) {
    HostRequest request = HostRequest.ofBytes(bytes).pages(need.pages()).numa(policy);
    try {
      List<Limit> binding =
          source.check(request).map(shortfall -> shortfall.limits()).orElse(List.of());
      for (Limit limit : binding) {
        limits.merge(
            limit.name() + limit.node(),
            limit,
            (one, other) -> one.missing() >= other.missing() ? one : other);
      }
      return binding.isEmpty();
    } catch (UnsupportedException cannot) {
      String text = String.valueOf(cannot.getMessage());
      refusals.putIfAbsent(text, new Refusal(text, cannot.remedy()));
      return false;
    }
  }

  /** What no command can give: more than all memory, of the host or of the nodes of a place. */
  private static List<Limit> beyond(
      Need need, HostSurvey survey, List<Place> places, long totalBytes) {
    List<Limit> beyond = new ArrayList<>();
    overAll(need, survey, survey.allowedNodes(), totalBytes, "this host", "")
        .ifPresent(beyond::add);
    for (Place place : places) {
      if (beyond.isEmpty() && !place.nodes().isEmpty()) {
        String where = "nodes " + place.nodes().stream().sorted().toList();
        overAll(need, survey, place.nodes(), place.neededBytes(), where, ", let more nodes give it")
            .ifPresent(beyond::add);
      }
    }
    return beyond;
  }

  private static Optional<Limit> overAll(
      Need need,
      HostSurvey survey,
      Set<Integer> nodes,
      long neededBytes,
      String where,
      String other) {
    long page = pageBytes(need.pages(), survey);
    long all = 0;
    long elsewhere = 0; // in other pools, or in use of this one
    for (HostSurvey.Node node : survey.nodes()) {
      if (nodes.contains(node.number())) {
        all += node.totalBytes();
        for (HostSurvey.NodePool pool : node.pools()) {
          boolean own = pool.pageBytes() == page;
          elsewhere += pool.pageBytes() * (own ? pool.total() - pool.free() : pool.total());
        }
      }
    }
    long left = Math.max(0, all - elsewhere);
    if (all == 0 || neededBytes <= left) {
      return Optional.empty();
    }
    String taken =
        elsewhere == 0
            ? ""
            : ", " + ByteCount.describe(elsewhere) + " of it in other HugeTLB pages or in use";
    return Optional.of(
        new Limit(
            "all memory of " + where + " (" + ByteCount.describe(all) + taken + ")",
            OptionalInt.empty(),
            page,
            Math.ceilDiv(neededBytes, page),
            left / page,
            "Ask for less than "
                + ByteCount.describe(left)
                + " in all"
                + other
                + ", or take a host with more memory: no setting gives more than there is"));
  }

  private static String summary(
      Need need, long total, List<Limit> limits, Map<String, Refusal> refusals) {
    String what =
        need.ranks()
            + (need.ranks() == 1 ? " rank of " : " ranks of ")
            + ByteCount.describe(need.bytesPerRank())
            + " on "
            + need.pages().describe()
            + ", "
            + need.numaText()
            + ": ";
    if (!refusals.isEmpty()) {
      return what + "infeasible, " + refusals.values().iterator().next().text();
    }
    return limits.isEmpty()
        ? what + "feasible, " + ByteCount.describe(total) + " mapped in all"
        : what
            + "infeasible, "
            + limits.stream().map(Limit::describe).collect(Collectors.joining("; "));
  }

  /** The page that will back it. */
  static long pageBytes(PageKind pages, HostSurvey survey) {
    if (pages instanceof PageKind.HugeTlb huge) {
      return huge.pageBytes();
    }
    return pages instanceof PageKind.Directory in && in.pageBytes().isPresent()
        ? in.pageBytes().getAsLong()
        : survey.basePageBytes();
  }

  private static String describe(NumaPolicy policy) {
    return switch (policy) {
      case NumaPolicy.Inherit _ -> "inherit";
      case NumaPolicy.Bind bind -> "bind " + bind.nodes();
      case NumaPolicy.Preferred preferred -> "preferred " + preferred.node();
      case NumaPolicy.Interleave interleave -> "interleave " + interleave.nodes();
      case NumaPolicy.Weighted weighted -> "weighted " + weighted.weights();
      case NumaPolicy.Nearest nearest -> "nearest to device " + nearest.device().ordinal();
    };
  }

  private static Set<Integer> nodes(NumaPolicy policy) {
    return switch (policy) {
      case NumaPolicy.Bind bind -> bind.nodes();
      case NumaPolicy.Interleave interleave -> interleave.nodes();
      case NumaPolicy.Weighted weighted -> weighted.weights().keySet();
      default -> Set.of();
    };
  }
}
