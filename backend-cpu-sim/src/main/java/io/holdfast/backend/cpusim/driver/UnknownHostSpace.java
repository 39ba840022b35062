package io.holdfast.backend.cpusim.driver;

/** A host of which nothing can be learned. */
record UnknownHostSpace(long basePageBytes) implements HostSpace {
  @Override
  public long backingPageBytes(long address) {
    return basePageBytes;
  }

  @Override
  public Finding inspect(long address, long bytes) {
    return Finding.WRITABLE;
  }

  @Override
  public boolean touch(long address, long bytes) {
    return true;
  }

  @Override
  public boolean takePages(long bytes) {
    return true;
  }

  @Override
  public void givePages(long bytes) {}
}
