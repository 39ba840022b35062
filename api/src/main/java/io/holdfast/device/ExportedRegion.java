package io.holdfast.device;

import java.util.List;

/** The exporting side's handles; open until closed. */
public interface ExportedRegion extends AutoCloseable {
  /**
   * The handles.
   *
   * @return one for each segment
   */
  List<ShareableHandle> handles();

  /**
   * What the importer needs, to be sent by any means.
   *
   * @return the descriptor
   */
  RegionDescriptor descriptor();

  /** Closes the descriptors; imported memory stays. Idempotent. */
  @Override
  void close();
}
