package io.holdfast.bench.soak;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.bench.tool.Console;
import java.util.ArrayList;
import java.util.List;

/**
 * What one rank found.
 *
 * @param rank which
 * @param backend its id
 * @param simulated whether the device is a simulation
 * @param device its name
 * @param pages what backed the pool
 * @param logicalBytes of the pool
 * @param mappedBytes of the pool
 * @param registeredBytes of the pool
 * @param registrations of the pool
 * @param readyMillis from the call to the last usable slot; 0 where it was stopped before
 * @param roundTrips blocks that went host, device, host and were checked
 * @param bytesMoved in both directions
 * @param storeGbps device to host, in 10^9 bytes for each second in which any moved
 * @param loadGbps host to device
 * @param mismatches blocks with a wrong byte
 * @param forks children forked meanwhile
 * @param leaks what was still there after the close
 */
public record SoakResult(
    int rank,
    String backend,
    boolean simulated,
    String device,
    String pages,
    long logicalBytes,
    long mappedBytes,
    long registeredBytes,
    long registrations,
    double readyMillis,
    long roundTrips,
    long bytesMoved,
    double storeGbps,
    double loadGbps,
    long mismatches,
    long forks,
    List<String> leaks) {
  /** Copies. */
  public SoakResult {
    leaks = List.copyOf(leaks);
  }

  /**
   * Whether nothing is wrong: blocks moved, none mismatched, nothing was left behind.
   *
   * @return true when clean
   */
  public boolean isClean() {
    return mismatches == 0 && leaks.isEmpty() && roundTrips > 0;
  }

  /**
   * As one JSON object.
   *
   * @return the object
   */
  public ObjectNode toJson() {
    ObjectNode node = Console.json().createObjectNode();
    node.put("rank", rank)
        .put("backend", backend)
        .put("simulated", simulated)
        .put("device", device)
        .put("pages", pages)
        .put("logicalBytes", logicalBytes)
        .put("mappedBytes", mappedBytes)
        .put("registeredBytes", registeredBytes)
        .put("registrations", registrations)
        .put("readyMillis", readyMillis)
        .put("roundTrips", roundTrips)
        .put("bytesMoved", bytesMoved);
    node.putObject("gbps").put("d2h", storeGbps).put("h2d", loadGbps);
    node.put("mismatches", mismatches).put("forks", forks).put("leaks", leaks.size());
    leaks.forEach(node.putArray("leaked")::add);
    return node;
  }

  /**
   * From what another process wrote.
   *
   * @param node made by {@link #toJson}
   * @return the result
   */
  public static SoakResult fromJson(JsonNode node) {
    List<String> leaks = new ArrayList<>();
    node.path("leaked").forEach(leak -> leaks.add(leak.asText()));
    return new SoakResult(
        node.path("rank").asInt(),
        node.path("backend").asText(),
        node.path("simulated").asBoolean(),
        node.path("device").asText(),
        node.path("pages").asText(),
        node.path("logicalBytes").asLong(),
        node.path("mappedBytes").asLong(),
        node.path("registeredBytes").asLong(),
        node.path("registrations").asLong(),
        node.path("readyMillis").asDouble(),
        node.path("roundTrips").asLong(),
        node.path("bytesMoved").asLong(),
        node.path("gbps").path("d2h").asDouble(),
        node.path("gbps").path("h2d").asDouble(),
        node.path("mismatches").asLong(),
        node.path("forks").asLong(),
        leaks);
  }

  /**
   * All ranks as one object: sums, the slowest start, and the list.
   *
   * @param ranks at least one
   * @return the object
   */
  public static ObjectNode toJson(List<SoakResult> ranks) {
    SoakResult first = ranks.getFirst();
    List<String> leaks = new ArrayList<>();
    ranks.forEach(
        one -> one.leaks().forEach(leak -> leaks.add("rank " + one.rank() + ": " + leak)));
    ObjectNode all =
        new SoakResult(
                0,
                first.backend(),
                first.simulated(),
                first.device(),
                first.pages(),
                ranks.stream().mapToLong(SoakResult::logicalBytes).sum(),
                ranks.stream().mapToLong(SoakResult::mappedBytes).sum(),
                ranks.stream().mapToLong(SoakResult::registeredBytes).sum(),
                ranks.stream().mapToLong(SoakResult::registrations).sum(),
                ranks.stream().mapToDouble(SoakResult::readyMillis).max().orElse(0),
                ranks.stream().mapToLong(SoakResult::roundTrips).sum(),
                ranks.stream().mapToLong(SoakResult::bytesMoved).sum(),
                ranks.stream().mapToDouble(SoakResult::storeGbps).sum(),
                ranks.stream().mapToDouble(SoakResult::loadGbps).sum(),
                ranks.stream().mapToLong(SoakResult::mismatches).sum(),
                ranks.stream().mapToLong(SoakResult::forks).sum(),
                leaks)
            .toJson();
    all.remove("rank");
    ranks.forEach(one -> all.withArray("ranks").add(one.toJson()));
    return all;
  }
}
