package io.holdfast.backend.cuda.jcuda;

import jcuda.NativePointerObject;
import jcuda.Pointer;

/**
 * What is inside JCuda's objects, by the doors that JCuda leaves open to subclasses.
 *
 * <p>A class of its own: the subclasses are loaded when this class is linked, which must come after
 * {@link JCudaBridge} has let the module read JCuda.
 */
final class JCudaObjects {
  private JCudaObjects() {}

  /** The driver's handle in a context, a stream or an event. */
  static long handle(NativePointerObject object) {
    return new Handle(object).getNativePointer();
  }

  /** The address that a pointer stands for, its offset included. */
  static long address(Pointer pointer) {
    Address copy = new Address(pointer);
    return copy.getNativePointer() + copy.getByteOffset();
  }

  /** A pointer to a raw address. */
  static Pointer at(long address) {
    return new Address(address);
  }

  private static final class Handle extends NativePointerObject {
    Handle(NativePointerObject other) {
      super(other);
    }

    @Override
    protected long getNativePointer() {
      return super.getNativePointer();
    }
  }

  private static final class Address extends Pointer {
    Address(Pointer other) {
      super(other);
    }

    Address(long address) {
      super(address);
    }

    @Override
    protected long getNativePointer() {
      return super.getNativePointer();
    }

    @Override
    protected long getByteOffset() {
      return super.getByteOffset();
    }
  }
}
