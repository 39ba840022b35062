package io.holdfast.spi;

/** Many copies in one driver call. */
public interface BatchCopyPort {
  /**
   * Most rows of one call.
   *
   * @return rows, at least 1
   */
  int maxRows();

  /**
   * Copies rows in one call, in any order among themselves.
   *
   * @param table the copies
   * @param from first row
   * @param to one behind the last row; {@code to - from} is 1 to {@link #maxRows()}
   * @param reads when sources are read
   * @param stream where
   * @throws io.holdfast.error.DriverException names the row where the driver does
   */
  void copyBatch(CopyTable table, long from, long to, SourceReads reads, StreamHandle stream);

  /** When sources are read. */
  enum SourceReads {
    /** In stream order. */
    IN_STREAM_ORDER,
    /** At any time from the call on: the source is stable. */
    ANY_TIME
  }
}
