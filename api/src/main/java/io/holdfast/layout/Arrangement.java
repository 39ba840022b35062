package io.holdfast.layout;

/** How planes are laid out when Holdfast lays them out. */
public enum Arrangement {
  /** Part after part: runs of blocks merge into long copies. */
  LAYER_MAJOR {
    @Override
    public BlockLayout layOut(BlockShape shape, long blocks) {
      return shape.layerMajor(blocks);
    }
  },
  /** Block after block: one block is one piece for a disk or a network card. */
  BLOCK_MAJOR {
    @Override
    public BlockLayout layOut(BlockShape shape, long blocks) {
      return shape.blockMajor(blocks);
    }
  };

  /**
   * Lays out that many blocks of the shape, packed.
   *
   * @param shape what a block is made of
   * @param blocks how many blocks; positive
   * @return the layout
   */
  public abstract BlockLayout layOut(BlockShape shape, long blocks);
}
