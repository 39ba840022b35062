package io.holdfast.backend.cuda;

import static java.lang.foreign.MemoryLayout.PathElement.groupElement;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.StructLayout;

/**
 * The driver's structs, byte for byte, under the names of {@code cuda.h}.
 *
 * <p>All are zeroed before use: the driver checks reserved bytes. Pointers are 64-bit words here.
 */
final class CudaLayouts {
  /** CUmemLocation: 8 bytes. */
  static final StructLayout LOCATION =
      MemoryLayout.structLayout(JAVA_INT.withName("type"), JAVA_INT.withName("id"))
          .withName("CUmemLocation");

  /** CUmemAccessDesc: 12 bytes, and so is the stride of an array of them. */
  static final StructLayout ACCESS_DESCRIPTOR =
      MemoryLayout.structLayout(LOCATION.withName("location"), JAVA_INT.withName("flags"))
          .withName("CUmemAccessDesc");

  /** CUmemAllocationProp: 32 bytes. */
  static final StructLayout ALLOCATION_PROPERTIES =
      MemoryLayout.structLayout(
              JAVA_INT.withName("type"),
              JAVA_INT.withName("requestedHandleTypes"),
              LOCATION.withName("location"),
              JAVA_LONG.withName("win32HandleMetaData"),
              JAVA_BYTE.withName("compressionType"),
              JAVA_BYTE.withName("gpuDirectRDMACapable"),
              JAVA_SHORT.withName("usage"),
              JAVA_INT.withName("reserved"))
          .withName("CUmemAllocationProp");

  /** CUmemcpyAttributes: 24 bytes. */
  static final StructLayout COPY_ATTRIBUTES =
      MemoryLayout.structLayout(
              JAVA_INT.withName("srcAccessOrder"),
              LOCATION.withName("srcLocHint"),
              LOCATION.withName("dstLocHint"),
              JAVA_INT.withName("flags"))
          .withName("CUmemcpyAttributes");

  /** CUDA_MEMCPY2D: 128 bytes. */
  static final StructLayout MEMCPY_2D =
      MemoryLayout.structLayout(
              JAVA_LONG.withName("srcXInBytes"),
              JAVA_LONG.withName("srcY"),
              JAVA_INT.withName("srcMemoryType"),
              MemoryLayout.paddingLayout(4),
              JAVA_LONG.withName("srcHost"),
              JAVA_LONG.withName("srcDevice"),
              JAVA_LONG.withName("srcArray"),
              JAVA_LONG.withName("srcPitch"),
              JAVA_LONG.withName("dstXInBytes"),
              JAVA_LONG.withName("dstY"),
              JAVA_INT.withName("dstMemoryType"),
              MemoryLayout.paddingLayout(4),
              JAVA_LONG.withName("dstHost"),
              JAVA_LONG.withName("dstDevice"),
              JAVA_LONG.withName("dstArray"),
              JAVA_LONG.withName("dstPitch"),
              JAVA_LONG.withName("WidthInBytes"),
              JAVA_LONG.withName("Height"))
          .withName("CUDA_MEMCPY2D");

  // ---- offsets of the fields that are written or read

  static final long ACCESS_LOCATION_TYPE = offset(ACCESS_DESCRIPTOR, "location", "type");
  static final long ACCESS_LOCATION_ID = offset(ACCESS_DESCRIPTOR, "location", "id");
  static final long ACCESS_FLAGS = offset(ACCESS_DESCRIPTOR, "flags");

  static final long PROPERTIES_TYPE = offset(ALLOCATION_PROPERTIES, "type");
  static final long PROPERTIES_HANDLE_TYPES = offset(ALLOCATION_PROPERTIES, "requestedHandleTypes");
  static final long PROPERTIES_LOCATION_TYPE = offset(ALLOCATION_PROPERTIES, "location", "type");
  static final long PROPERTIES_LOCATION_ID = offset(ALLOCATION_PROPERTIES, "location", "id");
  static final long PROPERTIES_RDMA = offset(ALLOCATION_PROPERTIES, "gpuDirectRDMACapable");

  static final long COPY_SOURCE_ORDER = offset(COPY_ATTRIBUTES, "srcAccessOrder");

  static final long MEMCPY_2D_SOURCE_TYPE = offset(MEMCPY_2D, "srcMemoryType");
  static final long MEMCPY_2D_SOURCE_HOST = offset(MEMCPY_2D, "srcHost");
  static final long MEMCPY_2D_SOURCE_DEVICE = offset(MEMCPY_2D, "srcDevice");
  static final long MEMCPY_2D_SOURCE_PITCH = offset(MEMCPY_2D, "srcPitch");
  static final long MEMCPY_2D_TARGET_TYPE = offset(MEMCPY_2D, "dstMemoryType");
  static final long MEMCPY_2D_TARGET_HOST = offset(MEMCPY_2D, "dstHost");
  static final long MEMCPY_2D_TARGET_DEVICE = offset(MEMCPY_2D, "dstDevice");
  static final long MEMCPY_2D_TARGET_PITCH = offset(MEMCPY_2D, "dstPitch");
  static final long MEMCPY_2D_WIDTH = offset(MEMCPY_2D, "WidthInBytes");
  static final long MEMCPY_2D_HEIGHT = offset(MEMCPY_2D, "Height");

  private CudaLayouts() {}

  private static long offset(StructLayout layout, String field) {
    return layout.byteOffset(groupElement(field));
  }

  private static long offset(StructLayout layout, String field, String inner) {
    return layout.byteOffset(groupElement(field), groupElement(inner));
  }
}
