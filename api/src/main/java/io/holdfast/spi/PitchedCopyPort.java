package io.holdfast.spi;

/** Regular rows in one driver call. */
public interface PitchedCopyPort {
  /**
   * Copies one rectangle, asynchronous to the host.
   *
   * @param destination first byte
   * @param destinationPitchBytes from row to row
   * @param source first byte
   * @param sourcePitchBytes from row to row
   * @param rowBytes bytes of each row
   * @param rows how many
   * @param direction which side is the host
   * @param stream where
   */
  void copyRows(
      long destination,
      long destinationPitchBytes,
      long source,
      long sourcePitchBytes,
      long rowBytes,
      long rows,
      CopyTable.Direction direction,
      StreamHandle stream);

  /**
   * Widest pitch the driver takes.
   *
   * @return bytes
   */
  long maxPitchBytes();
}
