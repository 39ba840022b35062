package io.holdfast.backend.cpusim.shim;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * The arguments of one C call, a word of 64 bits each; to be used during the call only.
 *
 * @param segment where they lie
 */
public record Words(MemorySegment segment) {
  /**
   * An argument that C passes in up to 32 bits.
   *
   * @param index which, from 0
   * @return its value
   */
  public int int32(int index) {
    return (int) int64(index);
  }

  /**
   * An argument that C passes in 64 bits: a size, a handle, an address.
   *
   * @param index which, from 0
   * @return its value
   */
  public long int64(int index) {
    return segment.getAtIndex(ValueLayout.JAVA_LONG, index);
  }

  /**
   * Whether a pointer is null.
   *
   * @param index which argument
   * @return true where it points nowhere
   */
  public boolean isNull(int index) {
    return int64(index) == 0;
  }

  /**
   * What a pointer points to.
   *
   * @param index which argument
   * @return the memory from there on, of unknown length
   */
  public MemorySegment pointee(int index) {
    return CMemory.at(int64(index));
  }
}
