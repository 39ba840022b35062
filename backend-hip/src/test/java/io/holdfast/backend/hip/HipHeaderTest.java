package io.holdfast.backend.hip;

import static java.lang.foreign.MemoryLayout.PathElement.groupElement;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.invoke.MethodHandle;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Layer d: the structs, numbers and calls of the binding by the book, and by the vendor's header
 * where it is installed, whichever version that is.
 */
final class HipHeaderTest {
  private static final Path HEADERS =
      Path.of(System.getProperty("holdfast.test.hip.include", "/usr/include"));

  /** What a header of a certain age does not declare yet. */
  private static final Map<String, Integer> SINCE =
      Map.of(
          "hipStreamGetDevice", 50_600_000,
          "hipMemGetHandleForAddressRange", 70_000_000,
          "hipMemcpyBatchAsync", 70_100_000);

  /** The header's names of the binding's numbers; where they came later, the version. */
  private static final Map<String, String> NAMES =
      Map.ofEntries(
          Map.entry("HIP_ERROR_PEER_ACCESS_UNSUPPORTED", "hipErrorPeerAccessUnsupported"),
          Map.entry("HIP_ERROR_ECC_NOT_CORRECTABLE", "hipErrorECCNotCorrectable"),
          Map.entry("HIP_ERROR_LAUNCH_TIME_OUT", "hipErrorLaunchTimeOut"),
          Map.entry("HIP_MEMCPY_HOST_TO_DEVICE", "hipMemcpyHostToDevice"),
          Map.entry("HIP_MEMCPY_DEVICE_TO_HOST", "hipMemcpyDeviceToHost"),
          Map.entry("HIP_MEMCPY_DEVICE_TO_DEVICE", "hipMemcpyDeviceToDevice"),
          Map.entry("HIP_STREAM_NULL", "0"),
          Map.entry("HIP_STREAM_PER_THREAD", "(size_t)hipStreamPerThread"),
          Map.entry("HIP_STREAM_NON_BLOCKING", "hipStreamNonBlocking"),
          Map.entry("HIP_MEM_HANDLE_TYPE_NONE", "hipMemHandleTypeNone"),
          Map.entry(
              "HIP_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR", "hipMemHandleTypePosixFileDescriptor"),
          Map.entry("HIP_MEM_ACCESS_FLAGS_PROT_READWRITE", "hipMemAccessFlagsProtReadWrite"),
          Map.entry(
              "HIP_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE",
              "HIP_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE"));

  private static final Map<String, Integer> NUMBERS_SINCE =
      Map.of(
          "HIP_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED", 50_300_000,
          "HIP_DEVICE_ATTRIBUTE_HOST_NUMA_ID", 70_200_000,
          "HIP_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED", 71_200_000,
          "HIP_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_VMM_SUPPORTED", 71_300_000,
          "HIP_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD", 70_000_000,
          "HIP_MEMCPY_SRC_ACCESS_ORDER_STREAM", 70_100_000,
          "HIP_MEMCPY_SRC_ACCESS_ORDER_ANY", 70_100_000);

  // ---- by the book

  @Test
  void sizesAreThoseOfTheRuntime() {
    assertEquals(8, HipLayouts.LOCATION.byteSize());
    assertEquals(12, HipLayouts.ACCESS_DESCRIPTOR.byteSize());
    assertEquals(32, HipLayouts.POINTER_ATTRIBUTES.byteSize());
    assertEquals(24, HipLayouts.COPY_ATTRIBUTES.byteSize());
    assertEquals(32, HipLayouts.PROPERTIES.layout().byteSize());
    assertEquals(32, HipLayouts.PROPERTIES_5_2.layout().byteSize());
    assertEquals(32, HipFrame.STRUCT_BYTES);
  }

  @Test
  void anAllocationsPropertiesAreOrderedByVersion() {
    HipLayouts.Properties of52 = new HipVersion(50_221_153).allocationProperties();
    HipLayouts.Properties of53 = new HipVersion(50_300_000).allocationProperties();
    HipLayouts.Properties of715 = new HipVersion(71_526_333).allocationProperties();

    assertEquals(
        List.of(16L, 12L, 4L, 8L, -1L),
        List.of(
            of52.type(), of52.handleType(), of52.locationType(), of52.locationId(), of52.rdma()));
    assertEquals(
        List.of(0L, 4L, 8L, 12L, 25L),
        List.of(
            of53.type(), of53.handleType(), of53.locationType(), of53.locationId(), of53.rdma()));
    assertEquals(of53, of715);
  }

  @Test
  void deviceMemoryIsCounted1To57And2From60() {
    assertEquals(1, new HipVersion(50_731_921).memoryTypeDevice());
    assertEquals(2, new HipVersion(60_000_000).memoryTypeDevice());
  }

  // ---- by the header

  @Test
  void theVendorsHeaderHasTheSameStructsAndNumbers(@TempDir Path folder) throws Exception {
    HipVersion version = headerVersion(folder);
    Map<String, Long> ours = new TreeMap<>();
    StringBuilder program = new StringBuilder();
    List<StructLayout> structs =
        new ArrayList<>(
            List.of(
                HipLayouts.LOCATION,
                HipLayouts.ACCESS_DESCRIPTOR,
                HipLayouts.POINTER_ATTRIBUTES,
                version.allocationProperties().layout()));
    if (version.number() >= SINCE.get("hipMemcpyBatchAsync")) {
      structs.add(HipLayouts.COPY_ATTRIBUTES);
    }
    for (StructLayout struct : structs) {
      String name = struct.name().orElseThrow();
      print(program, "sizeof(" + name + ")", ours, struct.byteSize());
      for (MemoryLayout field : struct.memberLayouts()) {
        if (field.name().isPresent()) {
          String inC = inHeader(name, field.name().get(), version);
          print(
              program,
              "offsetof(" + name + ", " + inC + ")",
              ours,
              struct.byteOffset(groupElement(field.name().get())));
        }
      }
    }
    print(program, "(int)hipMemoryTypeDevice", ours, version.memoryTypeDevice());
    for (Field constant : HipConstants.class.getDeclaredFields()) {
      if (version.number() >= NUMBERS_SINCE.getOrDefault(constant.getName(), 0)) {
        String inC = NAMES.getOrDefault(constant.getName(), camelCase(constant.getName()));
        print(program, inC, ours, ((Number) constant.get(null)).longValue());
      }
    }

    Map<String, Long> theirs = new TreeMap<>();
    for (String line : run(folder, "c", "", program.toString())) {
      int space = line.lastIndexOf(' ');
      theirs.put(line.substring(0, space), Long.parseLong(line.substring(space + 1)));
    }

    assertTrue(ours.size() > 60, ours::toString);
    assertEquals(ours, theirs);
  }

  /** How many arguments each function takes, and how wide each is. */
  @Test
  void theVendorsHeaderDeclaresTheSameCalls(@TempDir Path folder) throws Exception {
    HipVersion version = headerVersion(folder);
    Map<String, String> ours = new TreeMap<>();
    for (Map.Entry<String, MethodHandle> call : calls().entrySet()) {
      StringBuilder widths = new StringBuilder();
      call.getValue().type().parameterList().stream()
          .skip(1) // the function's own address
          .forEach(type -> widths.append(' ').append(width(type)));
      ours.put(call.getKey(), widths.toString());
    }
    Set<String> later = new TreeSet<>();
    SINCE.forEach(
        (name, since) -> {
          if (version.number() < since) {
            later.add(name);
          }
        });
    ours.keySet().removeAll(later);
    StringBuilder program = new StringBuilder();
    ours.keySet().forEach(name -> program.append("show(\"" + name + "\", &" + name + ");\n"));
    String template =
        """
        template <class R, class... A> static void show(const char *name, R (*)(A...)) {
          printf("%s", name);
          (printf(" %zu", sizeof(A)), ...);
          printf("\\n");
        }
        """;

    Map<String, String> theirs = new TreeMap<>();
    for (String line : run(folder, "c++", template, program.toString())) {
      int space = (line + " ").indexOf(' ');
      theirs.put(line.substring(0, space), line.substring(space));
    }

    assertTrue(ours.size() > 45, ours::toString);
    assertEquals(ours, theirs);
  }

  private static Map<String, MethodHandle> calls() throws IllegalAccessException {
    Map<String, String> exports = new HashMap<>();
    Map<String, MethodHandle> calls = new TreeMap<>();
    for (Field field : HipBindings.class.getDeclaredFields()) {
      if (field.getType() == MemorySegment.class) {
        exports.put(field.getName().toUpperCase(Locale.ROOT), field.getName());
      }
    }
    for (Field field : HipBindings.class.getDeclaredFields()) {
      if (field.getType() == MethodHandle.class && Modifier.isStatic(field.getModifiers())) {
        field.setAccessible(true);
        String export = exports.get(field.getName().replace("_", ""));
        calls.put(String.valueOf(export), (MethodHandle) field.get(null));
      }
    }
    assertEquals(new TreeSet<>(exports.values()), calls.keySet());
    return calls;
  }

  private static int width(Class<?> type) {
    if (type == byte.class) {
      return Byte.BYTES;
    }
    return type == int.class ? Integer.BYTES : Long.BYTES; // a pointer, a handle or a size
  }

  private static String inHeader(String struct, String field, HipVersion version) {
    boolean nested = version.number() >= 50_300_000;
    return switch (field) {
      case "compressionType", "gpuDirectRDMACapable", "usage" ->
          nested ? "allocFlags." + field : field;
      case "type" ->
          struct.equals("hipPointerAttribute_t") && version.number() < 60_000_000
              ? "memoryType"
              : field;
      default -> field;
    };
  }

  /** HIP_ERROR_NOT_READY is hipErrorNotReady. */
  private static String camelCase(String name) {
    StringBuilder camel = new StringBuilder("hip");
    for (String word : name.substring("HIP_".length()).split("_", -1)) {
      camel.append(word.charAt(0)).append(word.substring(1).toLowerCase(Locale.ROOT));
    }
    return camel.toString();
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

  private static HipVersion headerVersion(Path folder) throws Exception {
    Assumptions.assumeTrue(
        Files.exists(HEADERS.resolve("hip/hip_runtime_api.h")),
        "skipped: no hip/hip_runtime_api.h in "
            + HEADERS
            + " (install libamdhip64-dev, or set holdfast.test.hip.include)");
    List<String> lines = run(folder, "c", "", "printf(\"%ld\\n\", (long)HIP_VERSION);\n");
    return new HipVersion(Integer.parseInt(lines.getFirst()));
  }

  /** Compiles a program's body with the header and runs it. */
  private static List<String> run(Path folder, String language, String before, String body)
      throws Exception {
    String program =
        "#include <hip/hip_runtime_api.h>\n#include <hip/hip_version.h>\n#include <stddef.h>\n"
            + "#include <stdio.h>\n"
            + before
            + "int main(void) {\n"
            + body
            + "return 0; }\n";
    Path source = Files.writeString(folder.resolve("header." + language), program);
    Path object = folder.resolve("header-" + language + ".o");
    Path printer = folder.resolve("header-" + language);
    List<String> compiler =
        new ArrayList<>(
            List.of(language.equals("c") ? "cc" : "c++", "-w", "-x", language, "-isystem"));
    compiler.addAll(List.of(HEADERS.toString(), "-D__HIP_PLATFORM_AMD__"));
    compiler.addAll(List.of("-D__HIP_PLATFORM_HCC__", "-D__HIP_DISABLE_CPP_FUNCTIONS__"));
    if (language.equals("c++")) {
      compiler.add("-std=c++17");
    }
    compiler.addAll(List.of("-c", "-o", object.toString(), source.toString()));
    CLibrary.run(compiler);
    // Nothing is called, so nothing has to be there for the linker.
    CLibrary.run(
        List.of(
            language.equals("c") ? "cc" : "c++",
            "-Wl,--unresolved-symbols=ignore-all",
            "-no-pie",
            "-o",
            printer.toString(),
            object.toString()));
    Process process = new ProcessBuilder(printer.toString()).redirectErrorStream(true).start();
    try (var output = process.inputReader()) {
      List<String> lines = output.lines().toList();
      assertEquals(0, process.waitFor(), () -> String.join("\n", lines));
      return lines;
    }
  }
}
