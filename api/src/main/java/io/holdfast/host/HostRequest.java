package io.holdfast.host;

import io.holdfast.device.Demand;
import io.holdfast.internal.config.ConfigKeys;
import io.holdfast.layout.BlockLayout;
import java.util.Map;
import java.util.Objects;

/**
 * What host memory is wanted.
 *
 * @param logicalBytes what views will show, positive
 * @param pages what backs them
 * @param numa where they lie
 * @param placement REQUIRE: the receipt must agree; PREFER: it may differ and says so; OFF: not
 *     asked
 * @param limits what a shortfall of memory that can grow means
 * @param touch when pages become real
 * @param fork what a child process sees
 */
public record HostRequest(
    long logicalBytes,
    PageKind pages,
    NumaPolicy numa,
    Demand placement,
    Limits limits,
    Touch touch,
    Fork fork) {
  /** Checks. */
  public HostRequest {
    if (logicalBytes <= 0) {
      throw new IllegalArgumentException("logicalBytes must be positive, not " + logicalBytes);
    }
    Objects.requireNonNull(pages, "pages");
    Objects.requireNonNull(numa, "numa");
    Objects.requireNonNull(placement, "placement");
    Objects.requireNonNull(limits, "limits");
    Objects.requireNonNull(touch, "touch");
    Objects.requireNonNull(fork, "fork");
    if (touch == Touch.LAZILY && !(pages instanceof PageKind.Base)) {
      throw new IllegalArgumentException(
          "pages can come lazily on base pages only, not on " + pages.describe());
    }
  }

  /**
   * Base pages where the caller's policy puts them, populated first, kept from children.
   *
   * @param logicalBytes what views will show, positive
   * @return the request
   */
  public static HostRequest ofBytes(long logicalBytes) {
    return new HostRequest(
        logicalBytes,
        PageKind.base(),
        NumaPolicy.inherit(),
        Demand.REQUIRE,
        Limits.ENFORCE,
        Touch.BEFORE_USE,
        Fork.KEEP_FROM_CHILDREN);
  }

  /**
   * From the keys people know from vLLM. The byte key is a budget: the region holds as many whole
   * blocks as fit, at least one.
   *
   * @param config keys and values, as a configuration file gives them
   * @param layout one block's layout decides how many fit
   * @return the request
   * @throws IllegalArgumentException names the key, the value and what is accepted
   */
  public static HostRequest fromConfig(Map<String, ?> config, BlockLayout layout) {
    return ConfigKeys.hostRequest(config, layout);
  }

  /**
   * A changed copy.
   *
   * @param bytes what views will show
   * @return the copy
   */
  public HostRequest logicalBytes(long bytes) {
    return new HostRequest(bytes, pages, numa, placement, limits, touch, fork);
  }

  /**
   * A changed copy.
   *
   * @param kind what backs them
   * @return the copy
   */
  public HostRequest pages(PageKind kind) {
    return new HostRequest(logicalBytes, kind, numa, placement, limits, touch, fork);
  }

  /**
   * A changed copy.
   *
   * @param policy where they lie
   * @return the copy
   */
  public HostRequest numa(NumaPolicy policy) {
    return new HostRequest(logicalBytes, pages, policy, placement, limits, touch, fork);
  }

  /**
   * A changed copy.
   *
   * @param demand how much the placement counts
   * @return the copy
   */
  public HostRequest placement(Demand demand) {
    return new HostRequest(logicalBytes, pages, numa, demand, limits, touch, fork);
  }

  /**
   * A changed copy.
   *
   * @param meaning what a shortfall of memory that can grow means
   * @return the copy
   */
  public HostRequest limits(Limits meaning) {
    return new HostRequest(logicalBytes, pages, numa, placement, meaning, touch, fork);
  }

  /**
   * A changed copy.
   *
   * @param when pages become real
   * @return the copy
   */
  public HostRequest touch(Touch when) {
    return new HostRequest(logicalBytes, pages, numa, placement, limits, when, fork);
  }

  /**
   * A changed copy.
   *
   * @param what a child process sees
   * @return the copy
   */
  public HostRequest fork(Fork what) {
    return new HostRequest(logicalBytes, pages, numa, placement, limits, touch, what);
  }

  /** What a shortfall of available memory means; pools and cgroups always bind. */
  public enum Limits {
    /** A refusal. */
    ENFORCE,
    /**
     * A note in the receipt: machines that grow memory on demand report less than they can give.
     */
    ADVISE
  }

  /** When pages become real. */
  public enum Touch {
    /** All of them, before anyone gets a view. */
    BEFORE_USE,
    /** At first use, base pages only; a shortage then kills the process. */
    LAZILY
  }

  /** What a child process sees. */
  public enum Fork {
    /** Nothing. */
    KEEP_FROM_CHILDREN,
    /** A copy; pinned pages may move. */
    COPY_TO_CHILDREN
  }
}
