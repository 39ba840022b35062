package io.holdfast.internal.host;

import io.holdfast.host.*;
import io.holdfast.internal.core.CoreBackend;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.*;

/** Placeholder. */
public final class StandardPageSource implements PageSource {
  /**
   * Placeholder.
   *
   * @param backend whose kernel
   */
  public StandardPageSource(CoreBackend backend) {}

  @Override
  public HostRegion map(HostRequest request) {
    throw io.holdfast.internal.Placeholder.here();
  }

  @Override
  public HostRegion mapInBackground(HostRequest request) {
    throw io.holdfast.internal.Placeholder.here();
  }

  @Override
  public HostRegion adopt(MemorySegment foreign) {
    throw io.holdfast.internal.Placeholder.here();
  }

  @Override
  public SharedRegion share(SharedRequest request, int rank) {
    throw io.holdfast.internal.Placeholder.here();
  }

  @Override
  public List<String> reapStale(Path directory) {
    throw io.holdfast.internal.Placeholder.here();
  }

  @Override
  public Optional<Shortfall> check(HostRequest request) {
    throw io.holdfast.internal.Placeholder.here();
  }
}
