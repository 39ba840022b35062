package io.holdfast.backend.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.StructLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The structs and numbers of the binding, by the book and by the vendor's header where it is. */
final class CudaLayoutsTest {
  private static final Path HEADERS =
      Path.of(System.getProperty("holdfast.test.cuda.include", "/usr/local/cuda/include"));

  private static final List<StructLayout> STRUCTS =
      List.of(
          CudaLayouts.LOCATION,
          CudaLayouts.ACCESS_DESCRIPTOR,
          CudaLayouts.ALLOCATION_PROPERTIES,
          CudaLayouts.COPY_ATTRIBUTES,
          CudaLayouts.MEMCPY_2D);

  @Test
  void sizesAreThoseOfTheDriverApi() {
    assertEquals(8, CudaLayouts.LOCATION.byteSize());
    assertEquals(12, CudaLayouts.ACCESS_DESCRIPTOR.byteSize());
    assertEquals(32, CudaLayouts.ALLOCATION_PROPERTIES.byteSize());
    assertEquals(24, CudaLayouts.COPY_ATTRIBUTES.byteSize());
    assertEquals(128, CudaLayouts.MEMCPY_2D.byteSize());
    assertEquals(CallFrame.STRUCT_BYTES, CudaLayouts.MEMCPY_2D.byteSize());
  }

  @Test
  void offsetsAreThoseOfTheDriverApi() {
    assertEquals(8, CudaLayouts.ACCESS_FLAGS);
    assertEquals(4, CudaLayouts.PROPERTIES_HANDLE_TYPES);
    assertEquals(12, CudaLayouts.PROPERTIES_LOCATION_ID);
    assertEquals(25, CudaLayouts.PROPERTIES_RDMA);
    assertEquals(16, CudaLayouts.MEMCPY_2D_SOURCE_TYPE);
    assertEquals(24, CudaLayouts.MEMCPY_2D_SOURCE_HOST);
    assertEquals(32, CudaLayouts.MEMCPY_2D_SOURCE_DEVICE);
    assertEquals(48, CudaLayouts.MEMCPY_2D_SOURCE_PITCH);
    assertEquals(72, CudaLayouts.MEMCPY_2D_TARGET_TYPE);
    assertEquals(80, CudaLayouts.MEMCPY_2D_TARGET_HOST);
    assertEquals(88, CudaLayouts.MEMCPY_2D_TARGET_DEVICE);
    assertEquals(104, CudaLayouts.MEMCPY_2D_TARGET_PITCH);
    assertEquals(112, CudaLayouts.MEMCPY_2D_WIDTH);
    assertEquals(120, CudaLayouts.MEMCPY_2D_HEIGHT);
  }

  /** Every field and every constant, printed by a C program that includes the vendor's header. */
  @Test
  void theVendorsHeaderSaysTheSame(@TempDir Path folder) throws Exception {
    Assumptions.assumeTrue(
        Files.exists(HEADERS.resolve("cuda.h")),
        "skipped: no cuda.h in " + HEADERS + " (set holdfast.test.cuda.include)");
    Map<String, Long> ours = new TreeMap<>();
    StringBuilder program =
        new StringBuilder(
            "#include <cuda.h>\n#include <stddef.h>\n#include <stdio.h>\nint main(void) {\n");
    for (StructLayout struct : STRUCTS) {
      String name = struct.name().orElseThrow();
      print(program, "sizeof(" + name + ")", ours, struct.byteSize());
      for (MemoryLayout field : struct.memberLayouts()) {
        String fieldName = field.name().orElse("");
        if (!fieldName.isEmpty()) {
          String inC =
              switch (fieldName) {
                case "compressionType", "gpuDirectRDMACapable", "usage", "reserved" ->
                    "allocFlags." + fieldName;
                default -> fieldName;
              };
          print(
              program,
              "offsetof(" + name + ", " + inC + ")",
              ours,
              struct.byteOffset(PathElement.groupElement(fieldName)));
        }
      }
    }
    for (var constant : CudaConstants.class.getDeclaredFields()) {
      String inC =
          switch (constant.getName()) {
            case "CU_STREAM_LEGACY" -> "(size_t)CU_STREAM_LEGACY";
            case "CU_STREAM_PER_THREAD" -> "(size_t)CU_STREAM_PER_THREAD";
            default -> constant.getName();
          };
      print(program, inC, ours, ((Number) constant.get(null)).longValue());
    }
    program.append("return 0; }\n");
    Path source = Files.writeString(folder.resolve("layout.c"), program);
    Path printer = folder.resolve("layout");
    CLibrary.run(List.of("cc", "-w", "-I" + HEADERS, "-o", printer.toString(), source.toString()));

    Map<String, Long> theirs = new TreeMap<>();
    Process process = new ProcessBuilder(printer.toString()).start();
    try (var output = process.inputReader()) {
      output
          .lines()
          .forEach(
              line ->
                  theirs.put(
                      line.substring(0, line.lastIndexOf(' ')),
                      Long.parseLong(line.substring(line.lastIndexOf(' ') + 1))));
    }

    assertEquals(0, process.waitFor());
    assertEquals(ours, theirs);
  }

  private static void print(
      StringBuilder program, String expression, Map<String, Long> ours, long value) {
    ours.put(expression, value);
    program
        .append("printf(\"%s %ld\\n\", \"")
        .append(expression)
        .append("\", (long)(")
        .append(expression)
        .append("));\n");
  }
}
