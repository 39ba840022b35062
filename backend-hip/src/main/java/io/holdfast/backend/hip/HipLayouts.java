package io.holdfast.backend.hip;

import static java.lang.foreign.MemoryLayout.PathElement.groupElement;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.StructLayout;

/**
 * The runtime's structs, byte for byte, under the names of {@code hip_runtime_api.h}.
 *
 * <p>All are zeroed before use. Pointers are 64-bit words here.
 */
final class HipLayouts {
  /** hipMemLocation: 8 bytes. */
  static final StructLayout LOCATION =
      MemoryLayout.structLayout(JAVA_INT.withName("type"), JAVA_INT.withName("id"))
          .withName("hipMemLocation");

  /** hipMemAccessDesc: 12 bytes, and so is the stride of an array of them. */
  static final StructLayout ACCESS_DESCRIPTOR =
      MemoryLayout.structLayout(LOCATION.withName("location"), JAVA_INT.withName("flags"))
          .withName("hipMemAccessDesc");

  /** hipPointerAttribute_t: 32 bytes; its first field is an enum that 6.0 renumbered. */
  static final StructLayout POINTER_ATTRIBUTES =
      MemoryLayout.structLayout(
              JAVA_INT.withName("type"),
              JAVA_INT.withName("device"),
              JAVA_LONG.withName("devicePointer"),
              JAVA_LONG.withName("hostPointer"),
              JAVA_INT.withName("isManaged"),
              JAVA_INT.withName("allocationFlags"))
          .withName("hipPointerAttribute_t");

  /** hipMemcpyAttributes, from 7.1 on: 24 bytes. */
  static final StructLayout COPY_ATTRIBUTES =
      MemoryLayout.structLayout(
              JAVA_INT.withName("srcAccessOrder"),
              LOCATION.withName("srcLocHint"),
              LOCATION.withName("dstLocHint"),
              JAVA_INT.withName("flags"))
          .withName("hipMemcpyAttributes");

  /** hipMemAllocationProp from 5.3 on: 32 bytes. */
  static final Properties PROPERTIES =
      Properties.of(
          MemoryLayout.structLayout(
              JAVA_INT.withName("type"),
              JAVA_INT.withName("requestedHandleType"),
              LOCATION.withName("location"),
              JAVA_LONG.withName("win32HandleMetaData"),
              JAVA_BYTE.withName("compressionType"),
              JAVA_BYTE.withName("gpuDirectRDMACapable"),
              JAVA_SHORT.withName("usage"),
              MemoryLayout.paddingLayout(4)));

  /** hipMemAllocationProp of 5.2: 32 bytes in another order. */
  static final Properties PROPERTIES_5_2 =
      Properties.of(
          MemoryLayout.structLayout(
              JAVA_BYTE.withName("compressionType"),
              MemoryLayout.paddingLayout(3),
              LOCATION.withName("location"),
              JAVA_INT.withName("requestedHandleType"),
              JAVA_INT.withName("type"),
              JAVA_SHORT.withName("usage"),
              MemoryLayout.paddingLayout(2),
              JAVA_LONG.withName("win32HandleMetaData")));

  // ---- offsets of the fields that are written or read

  static final long ACCESS_LOCATION_TYPE = offset(ACCESS_DESCRIPTOR, "location", "type");
  static final long ACCESS_LOCATION_ID = offset(ACCESS_DESCRIPTOR, "location", "id");
  static final long ACCESS_FLAGS = offset(ACCESS_DESCRIPTOR, "flags");

  static final long POINTER_TYPE = offset(POINTER_ATTRIBUTES, "type");
  static final long POINTER_DEVICE = offset(POINTER_ATTRIBUTES, "device");

  static final long COPY_SOURCE_ORDER = offset(COPY_ATTRIBUTES, "srcAccessOrder");

  private HipLayouts() {}

  /**
   * An allocation's properties in one version's order.
   *
   * @param layout the struct
   * @param type where the allocation's type is
   * @param handleType where the kind of handle is
   * @param locationType where the kind of place is
   * @param locationId where the device's number is
   * @param rdma where the wish to be read by network cards is, or -1 where there is no such field
   */
  record Properties(
      StructLayout layout,
      long type,
      long handleType,
      long locationType,
      long locationId,
      long rdma) {
    static Properties of(StructLayout unnamed) {
      StructLayout layout = unnamed.withName("hipMemAllocationProp");
      boolean rdma =
          layout.memberLayouts().stream()
              .anyMatch(field -> field.name().filter("gpuDirectRDMACapable"::equals).isPresent());
      return new Properties(
          layout,
          offset(layout, "type"),
          offset(layout, "requestedHandleType"),
          offset(layout, "location", "type"),
          offset(layout, "location", "id"),
          rdma ? offset(layout, "gpuDirectRDMACapable") : -1);
    }
  }

  private static long offset(StructLayout layout, String field) {
    return layout.byteOffset(groupElement(field));
  }

  private static long offset(StructLayout layout, String field, String inner) {
    return layout.byteOffset(groupElement(field), groupElement(inner));
  }
}
