package io.holdfast.host;

import io.holdfast.error.Category;
import io.holdfast.error.HoldfastException;
import java.io.Serial;

/** Ranks that were to share memory did not come together; nothing of ours is left behind. */
public final class SharingException extends HoldfastException {
  @Serial private static final long serialVersionUID = 1L;

  /** Why. */
  private final Reason reason;

  /** The request's name. */
  private final String name;

  /** How many ranks had come. */
  private final int joined;

  /** How many were to come. */
  private final int ranks;

  /**
   * Who was there, and what went wrong.
   *
   * @param reason why
   * @param name the request's name
   * @param joined ranks that had come, where known
   * @param ranks ranks that were to come
   * @param what one clause with the numbers, without a full stop
   */
  public SharingException(Reason reason, String name, int joined, int ranks, String what) {
    super(
        reason == Reason.MISMATCH ? Category.DISAGREEMENT : Category.UNAVAILABLE,
        "PageSource.share",
        "sharing '" + name + "' failed with " + joined + " of " + ranks + " ranks there: " + what,
        reason.remedy,
        null);
    this.reason = reason;
    this.name = name;
    this.joined = joined;
    this.ranks = ranks;
  }

  /**
   * Why.
   *
   * @return the reason
   */
  public Reason reason() {
    return reason;
  }

  /**
   * The request's name.
   *
   * @return the name
   */
  public String name() {
    return name;
  }

  /**
   * How many ranks had come.
   *
   * @return ranks, as far as known
   */
  public int joined() {
    return joined;
  }

  /**
   * How many were to come.
   *
   * @return ranks
   */
  public int ranks() {
    return ranks;
  }

  /** Why ranks did not come together. */
  public enum Reason {
    /** Others did not come, or did not populate, in time. */
    TIMEOUT("Start all ranks together, or let each wait longer"),
    /** The rank that makes the memory is gone. */
    CREATOR_GONE("Start all ranks again"),
    /** Another rank gave up or failed. */
    PEER_FAILED("Look at the first error of the other ranks"),
    /** Ranks asked for different things. */
    MISMATCH("Give every rank the same request"),
    /** That rank is there already. */
    RANK_TAKEN("Give each process a rank of its own, and each engine a name of its own"),
    /** The files of that name belong to somebody else, or others may read them. */
    NOT_OURS("Use another name, or look who made the file");

    private final String remedy;

    Reason(String remedy) {
      this.remedy = remedy;
    }
  }
}
