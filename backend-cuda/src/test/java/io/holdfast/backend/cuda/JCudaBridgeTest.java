package io.holdfast.backend.cuda;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.Backend;
import io.holdfast.Device;
import io.holdfast.backend.cuda.jcuda.JCudaBridge;
import io.holdfast.device.DeviceSegment;
import io.holdfast.device.DeviceStream;
import io.holdfast.host.HostRegion;
import io.holdfast.host.HostRequest;
import io.holdfast.spi.BackendProvider;
import io.holdfast.spi.DeviceRange;
import io.holdfast.spi.StandardBackend;
import java.lang.foreign.MemorySegment;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import jcuda.Pointer;
import jcuda.driver.CUcontext;
import jcuda.driver.CUdevice;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUevent;
import jcuda.driver.CUstream;
import jcuda.driver.JCudaDriver;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** JCuda's objects go in and come out, wherever JCuda is. */
final class JCudaBridgeTest {
  private static final String CHILD =
      """
      import io.holdfast.Device;
      import io.holdfast.backend.cuda.jcuda.JCudaBridge;
      import java.lang.reflect.Proxy;
      import jcuda.driver.CUstream;

      public class Child {
        public static void main(String[] arguments) {
          Device device = (Device) Proxy.newProxyInstance(Child.class.getClassLoader(),
              new Class<?>[] {Device.class},
              (proxy, method, values) -> {
                System.out.println(method.getName() + " " + values[0]);
                return null;
              });
          JCudaBridge.on(device).stream(new CUstream());
        }
      }
      """;

  @TempDir Path folder;

  @Test
  void objectsOfAnEngineAndOursNameTheSameThings() {
    PretendDriver pretend = PretendDriver.throughJCuda();
    CUcontext context = new CUcontext();
    CUstream stream = new CUstream();
    CUevent event = new CUevent();
    CUdeviceptr memory = new CUdeviceptr();
    CUdevice first = new CUdevice();
    assertEquals(0, JCudaDriver.cuDeviceGet(first, 0));
    assertEquals(0, JCudaDriver.cuDevicePrimaryCtxRetain(context, first));
    assertEquals(0, JCudaDriver.cuCtxSetCurrent(context));
    assertEquals(0, JCudaDriver.cuStreamCreateWithPriority(stream, 1, 0));
    assertEquals(0, JCudaDriver.cuEventCreate(event, 2));
    assertEquals(0, JCudaDriver.cuMemAlloc(memory, 8192));

    try (Backend backend = StandardBackend.over("cuda", pretend.driver());
        Device device = JCudaBridge.open(backend, backend.devices().getFirst(), context);
        HostRegion region = backend.pageSource().map(HostRequest.ofBytes(8192))) {
      JCudaBridge bridge = JCudaBridge.on(device);
      DeviceSegment half = bridge.memory(memory.withByteOffset(4096), 4096);
      DeviceStream wrapped = bridge.stream(stream);
      wrapped.waitFor(bridge.event(event));
      MemorySegment host = region.segment();
      host.fill((byte) 0x3C);
      Pointer ours = bridge.pointer(region);

      assertEquals(4096, half.byteSize());
      assertEquals(0, JCudaDriver.cuMemcpyHtoDAsync(bridge.pointer(half), ours, 4096, stream));
      assertEquals(
          (byte) 0x3C,
          pretend.read(new DeviceRange(half.rawAddress(), half.byteSize())).get(JAVA_BYTE, 4095));
      assertTrue(device.info().name().startsWith("Pretend"));
      wrapped.close();
    }

    assertEquals(0, JCudaDriver.cuMemFree(memory));
    assertEquals(0, JCudaDriver.cuEventDestroy(event));
    assertEquals(0, JCudaDriver.cuStreamDestroy(stream));
    assertEquals(0, JCudaDriver.cuCtxSetCurrent(new CUcontext()));
    assertEquals(0, JCudaDriver.cuDevicePrimaryCtxRelease(first));
    pretend.assertNothingLeft(0);
  }

  @Test
  void theBridgeFindsJCudaOnTheClassPathFromInsideItsModule() throws Exception {
    assertEquals(
        List.of("wrapStream 0"),
        run(CHILD, jcuda(), "-p", modules(), "--add-modules", "io.holdfast.backend.cuda"));
  }

  @Test
  void theBridgeFindsJCudaOnTheModulePath() throws Exception {
    assertEquals(
        List.of("wrapStream 0"),
        run(
            CHILD,
            "",
            "-p",
            modules() + ":" + jcuda(),
            "--add-modules",
            "io.holdfast.backend.cuda,jcuda,java.logging"));
  }

  @Test
  void theBridgeWorksWithEverythingOnTheClassPath() throws Exception {
    assertEquals(List.of("wrapStream 0"), run(CHILD, modules() + ":" + jcuda()));
  }

  /** Everything but the bridge works without JCuda: the provider is found and asked. */
  @Test
  void theProviderIsFoundWhereThereIsNoJCuda() throws Exception {
    String asks =
        """
        public class Child {
          public static void main(String[] arguments) {
            io.holdfast.Backends.discover().entries().forEach(
                entry -> System.out.println(entry.id()));
          }
        }
        """;

    assertEquals(
        List.of("cuda"),
        run(asks, "", "-p", modules(), "--add-modules", "io.holdfast.backend.cuda"));
    assertEquals(List.of("cuda"), run(asks, modules()));
  }

  /**
   * The module comes to read JCuda's classes before the binding is linked: only natives are
   * missing.
   */
  @Test
  void theJCudaBindingFindsItsClassesOnTheClassPathFromInsideItsModule() throws Exception {
    Path library = SimulatedLibcuda.compile(folder, SimulatedLibcuda.cuda580(), List.of());
    String asks =
        """
        import io.holdfast.Availability.Unavailable;

        public class Child {
          public static void main(String[] arguments) {
            io.holdfast.Backends.discover().entries().forEach(
                entry -> System.out.println(((Unavailable) entry.availability()).reason()));
          }
        }
        """;

    List<String> reasons =
        run(
            asks,
            jcuda(),
            "-p",
            modules(),
            "--add-modules",
            "io.holdfast.backend.cuda",
            "-Dholdfast.cuda.library=" + library,
            "-Dholdfast.cuda.binding=jcuda",
            "-Djava.library.path=" + folder);

    assertEquals(1, reasons.size(), () -> String.join("\n", reasons));
    assertTrue(
        reasons.getFirst().startsWith("JCuda's libJCudaDriver-12.6.0-linux-"), reasons.getFirst());
  }

  /** Compiles the child against everything, and runs it with what is given. */
  private List<String> run(String source, String classPath, String... options) throws Exception {
    Path file = Files.writeString(folder.resolve("Child.java"), source);
    Path java = Path.of(System.getProperty("java.home"), "bin");
    started(
        List.of(
            java.resolve("javac").toString(),
            "-cp",
            modules() + ":" + jcuda(),
            "-d",
            folder.toString(),
            file.toString()));
    List<String> command =
        new ArrayList<>(
            List.of(
                java.resolve("java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                folder + ":" + classPath));
    command.addAll(List.of(options));
    command.add("Child");
    return started(command);
  }

  private static List<String> started(List<String> command) throws Exception {
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    List<String> lines;
    try (var output = process.inputReader()) {
      lines =
          output.lines().filter(line -> !line.isEmpty() && !line.startsWith("WARNING: ")).toList();
    }
    assertEquals(0, process.waitFor(), () -> String.join("\n", lines));
    return lines;
  }

  private static String modules() throws URISyntaxException {
    return place(BackendProvider.class) + ":" + place(CudaProvider.class);
  }

  private static String jcuda() throws URISyntaxException {
    return place(Pointer.class).toString();
  }

  private static Path place(Class<?> type) throws URISyntaxException {
    return Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI());
  }
}
