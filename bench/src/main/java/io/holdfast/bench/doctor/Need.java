package io.holdfast.bench.doctor;

import io.holdfast.device.DeviceInfo;
import io.holdfast.host.NumaPolicy;
import io.holdfast.host.PageKind;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.Function;

/**
 * What an operator wants to run.
 *
 * @param ranks processes, one for each device in turn
 * @param bytesPerRank host memory of each
 * @param pages what backs it
 * @param numaText where it shall lie, as written
 * @param numa the same for a device
 */
public record Need(
    int ranks,
    long bytesPerRank,
    PageKind pages,
    String numaText,
    Function<DeviceInfo, NumaPolicy> numa) {
  /** Checks. */
  public Need {
    if (ranks < 1 || bytesPerRank < 1) {
      throw new IllegalArgumentException(ranks + " ranks of " + bytesPerRank + " bytes");
    }
    Objects.requireNonNull(pages, "pages");
    Objects.requireNonNull(numaText, "numaText");
    Objects.requireNonNull(numa, "numa");
  }

  /** Where one rank's memory shall lie; devices of one node are one place. */
  NumaPolicy placeOf(int rank, List<DeviceInfo> devices) {
    DeviceInfo device =
        devices.isEmpty()
            ? new DeviceInfo(rank, "none", "", "", 0, OptionalInt.empty())
            : devices.get(rank % devices.size());
    NumaPolicy policy = numa.apply(device);
    if (policy instanceof NumaPolicy.Nearest near) {
      return near.device().numaNode().isPresent()
          ? NumaPolicy.bind(near.device().numaNode().getAsInt())
          : NumaPolicy.inherit();
    }
    return policy;
  }

  /** Whether the devices' nodes decide and none is known. */
  Optional<String> unplaced(List<DeviceInfo> devices) {
    boolean unknown = devices.stream().allMatch(device -> device.numaNode().isEmpty());
    return numaText.equals("nearest") && unknown
        ? Optional.of("no device tells its node, so that nearest means anywhere")
        : Optional.empty();
  }
}
