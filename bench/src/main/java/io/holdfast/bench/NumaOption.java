package io.holdfast.bench;

import io.holdfast.device.DeviceInfo;
import io.holdfast.host.NumaPolicy;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/**
 * A placement on the command line: {@code inherit}, {@code bind:0,1}, {@code preferred:0}, {@code
 * interleave:0,1}, {@code weighted:0=3,1=1} or {@code nearest}.
 */
final class NumaOption implements ITypeConverter<NumaOption.Choice> {
  /**
   * A policy that may need the device.
   *
   * @param text as written
   * @param policy made for a device
   */
  record Choice(String text, Function<DeviceInfo, NumaPolicy> policy) {
    @Override
    public String toString() {
      return text;
    }
  }

  @Override
  public Choice convert(String value) {
    int colon = value.indexOf(':');
    String name = colon < 0 ? value : value.substring(0, colon);
    String rest = colon < 0 ? "" : value.substring(colon + 1);
    try {
      NumaPolicy policy =
          switch (name) {
            case "inherit" -> none(rest, NumaPolicy.inherit());
            case "nearest" -> none(rest, NumaPolicy.inherit());
            case "bind" -> new NumaPolicy.Bind(nodes(rest));
            case "preferred" -> NumaPolicy.preferred(Integer.parseInt(rest));
            case "interleave" -> new NumaPolicy.Interleave(nodes(rest));
            case "weighted" -> NumaPolicy.weighted(weights(rest));
            default -> throw new IllegalArgumentException("unknown policy " + name);
          };
      return name.equals("nearest")
          ? new Choice(value, NumaPolicy::nearest)
          : new Choice(value, _ -> policy);
    } catch (IllegalArgumentException wrong) {
      throw new TypeConversionException(
          "'"
              + value
              + "' is not a placement; use inherit, bind:N[,M], preferred:N, interleave:N[,M],"
              + " weighted:N=W[,M=W] or nearest");
    }
  }

  private static NumaPolicy none(String rest, NumaPolicy policy) {
    if (!rest.isEmpty()) {
      throw new IllegalArgumentException("takes no node");
    }
    return policy;
  }

  private static Set<Integer> nodes(String text) {
    Set<Integer> nodes = new LinkedHashSet<>();
    for (String node : text.split(",", -1)) {
      nodes.add(Integer.parseInt(node.strip()));
    }
    return nodes;
  }

  private static Map<Integer, Integer> weights(String text) {
    Map<Integer, Integer> weights = new TreeMap<>();
    for (String pair : text.split(",", -1)) {
      String[] sides = pair.split("=", -1);
      if (sides.length != 2) {
        throw new IllegalArgumentException("no weight in " + pair);
      }
      weights.put(Integer.parseInt(sides[0].strip()), Integer.parseInt(sides[1].strip()));
    }
    return weights;
  }
}
