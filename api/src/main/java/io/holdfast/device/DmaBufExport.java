package io.holdfast.device;

/**
 * A range of an extensible region as a dma-buf, for a network card's driver. Open until closed; it
 * holds the pages meanwhile, as every export does. Safe from any thread.
 */
public interface DmaBufExport extends AutoCloseable {
  /**
   * The descriptor.
   *
   * @return belongs to this export
   */
  int fileDescriptor();

  /**
   * Where the exported range starts in the dma-buf, which is made of whole host pages.
   *
   * @return bytes from its start
   */
  long offsetBytes();

  /**
   * How long the dma-buf is.
   *
   * @return bytes, whole host pages
   */
  long bytes();

  /** Closes the descriptor; what a card's driver made of it stays. Idempotent. */
  @Override
  void close();
}
