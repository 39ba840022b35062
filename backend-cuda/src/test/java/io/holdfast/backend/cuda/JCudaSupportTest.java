package io.holdfast.backend.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.Availability.Unavailable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** How the binding is chosen, and what is said when JCuda is asked for and cannot be had. */
final class JCudaSupportTest {
  @TempDir Path folder;

  private final List<String> transcript = new ArrayList<>();
  private final Map<String, String> properties = new HashMap<>();

  @Test
  void anUnknownBindingIsRefusedWithThoseThereAre() {
    properties.put("holdfast.cuda.binding", "jni");

    CudaLoader.Outcome.Refused refused = (CudaLoader.Outcome.Refused) load();

    assertEquals("holdfast.cuda.binding is 'jni', which is no binding", refused.why().reason());
    assertEquals("Set it to ffm, jcuda or auto, or remove it", refused.why().remedy());
  }

  @Test
  void autoAndFfmAreTheSame() {
    pretended();
    for (String binding : List.of("auto", "ffm")) {
      properties.put("holdfast.cuda.binding", binding);

      CudaLoader.Outcome.Started started = (CudaLoader.Outcome.Started) load();

      assertTrue(started.calls().describe().endsWith("through FFM"));
      assertEquals(13_000, started.version());
    }
  }

  @Test
  void nativesThatAreInNoFolderAreNotUnpackedAnywhere() {
    properties.put("java.library.path", "/nowhere:" + folder);
    properties.put("os.arch", "amd64");

    Unavailable why = refused();

    assertEquals(
        "JCuda's libJCudaDriver-12.6.0-linux-x86_64.so is in no folder of java.library.path",
        why.reason());
    assertTrue(why.remedy().contains("-Djava.library.path=FOLDER"), why.remedy());
    assertTrue(
        transcript.contains(
            "libJCudaDriver-12.6.0-linux-x86_64.so: in none of [/nowhere, " + folder + "]"));
    assertTrue(
        Files.notExists(
            Path.of(
                System.getProperty("java.io.tmpdir"), "libJCudaDriver-12.6.0-linux-x86_64.so")));
  }

  @Test
  void nativesThatOthersCanWriteToAreNotLoaded() throws IOException {
    properties.put("java.library.path", folder.toString());
    properties.put("os.arch", "amd64");
    Path natives = Files.createFile(folder.resolve("libJCudaDriver-12.6.0-linux-x86_64.so"));
    Files.setPosixFilePermissions(natives, PosixFilePermissions.fromString("rw-rw-rw-"));

    Unavailable why = refused();

    assertEquals(
        "JCuda's natives are not loaded: other users may write to " + natives + " (mode 666)",
        why.reason());
  }

  @Test
  void nativesByARelativePathAreNotLoaded() throws IOException {
    Path here = Path.of("").toAbsolutePath();
    properties.put("java.library.path", here.relativize(folder).toString());
    properties.put("os.arch", "amd64");
    Files.createFile(folder.resolve("libJCudaDriver-12.6.0-linux-x86_64.so"));

    assertTrue(refused().reason().endsWith("is not an absolute path"), refused().reason());
  }

  @Test
  void theNativesNameFollowsTheProcessor() {
    properties.put("java.library.path", folder.toString());
    properties.put("os.arch", "aarch64");

    assertTrue(refused().reason().contains("libJCudaDriver-12.6.0-linux-aarch64.so"));
  }

  private void pretended() {
    SimulatedLibcuda library =
        new SimulatedLibcuda(
            folder, List.of(), SimulatedLibcuda.machine(SimulatedLibcuda.cuda580()));
    properties.put("holdfast.cuda.library", library.file().toString());
  }

  private Unavailable refused() {
    return ((JCudaSupport.Outcome.Refused) JCudaSupport.open(around(), this::note)).why();
  }

  private CudaLoader.Outcome load() {
    return CudaLoader.load(around(), this::note);
  }

  private Surroundings around() {
    return new Surroundings(folder, name -> null, properties::get, file -> true);
  }

  private void note(String what, String outcome) {
    transcript.add(what + ": " + outcome);
  }
}
