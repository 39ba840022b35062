package io.holdfast.conformance;

/** What every backend keeps. Ids are for ever; a rule that falls is not replaced by another. */
public enum Rule {
  /** Mapped bytes are the logical bytes rounded up to the backing page, never a page more. */
  MAP_01("mapped bytes are the logical bytes rounded up to the backing page, never a page more"),
  /** A view shows exactly the logical bytes. */
  MAP_02("a view shows exactly the logical bytes"),
  /** Zero or fewer bytes are an argument error. */
  MAP_03("zero or fewer bytes are an argument error"),
  /** New memory reads as zeros. */
  MAP_04("new memory reads as zeros"),
  /** Use after close is an IllegalStateException. */
  MAP_05("use after close is an IllegalStateException"),
  /** Registered bytes are whole backing pages, the last one included. */
  REG_01("registered bytes are whole backing pages, the last one included"),
  /** Ranges tile the memory in order, none above the cap. */
  REG_02("ranges tile the memory in order, none above the cap"),
  /** A pin that overlaps another is refused and changes nothing. */
  REG_03("a pin that overlaps another is refused and changes nothing"),
  /** What was pinned and closed can be pinned again. */
  REG_04("what was pinned and closed can be pinned again"),
  /**
   * A block that no legal cut spares is an error under the strict policy, before a call is made.
   */
  REG_05("a plan that cannot be is an error before any call is made"),
  /** Blocks come back byte by byte. */
  CPY_01("blocks come back byte by byte, for odd sizes too"),
  /** A block that lies over a cut comes back byte by byte. */
  CPY_02("a block that lies over a cut comes back byte by byte"),
  /** An empty list of pairs is a no-op that is done. */
  CPY_03("an empty list of pairs is a no-op that is done"),
  /** An id out of range is refused with its pair, and nothing is submitted. */
  CPY_04("an id out of range is refused with its pair, and nothing is submitted"),
  /** A destination named twice is refused. */
  CPY_05("a destination named twice is refused, and nothing is submitted"),
  /** Sides of different shape are refused. */
  CPY_06("sides of different shape are refused"),
  /** Neighbours on both sides merge into one descriptor, upwards and downwards. */
  CPY_07("neighbours on both sides merge into one descriptor, upwards and downwards"),
  /** The report counts what was moved. */
  CPY_08("the report counts what was moved"),
  /** Layouts may differ: blocks are reshaped on the way. */
  CPY_09("layouts may differ: blocks are reshaped on the way"),
  /** What is ordered after a copy sees its bytes. */
  ORD_01("what is ordered after a copy sees its bytes"),
  /** Waiting for an event that was never recorded is refused. */
  ORD_02("waiting for an event that was never recorded is refused"),
  /** A load waits for the store that fills its slot, without being told. */
  SLT_01("a load waits for the store that fills its slot, without being told"),
  /** A copy that conflicts with a lease is refused. */
  SLT_02("a copy that conflicts with a lease is refused"),
  /** Close is refused while a lease is out, with nothing undone. */
  CLS_01("close is refused while a lease is out, with nothing undone"),
  /** Close is refused while a hold is out, with nothing undone. */
  CLS_02("close is refused while a hold is out, with nothing undone"),
  /** Closing a device or a backend closes what was opened from it. */
  CLS_03("closing a device or a backend closes what was opened from it"),
  /** Closing twice is closing once. */
  CLS_04("closing twice is closing once"),
  /** Many virtual threads copy at once through one pool. */
  THR_01("many virtual threads copy at once through one pool"),
  /** Memory that the driver does not know cannot be wrapped. */
  DEV_01("memory that the driver does not know cannot be wrapped");

  private final String statement;

  Rule(String statement) {
    this.statement = statement;
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
   * The rule in one sentence.
   *
   * @return without a full stop
   */
  public String statement() {
    return statement;
  }
}
