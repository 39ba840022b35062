package io.holdfast.conformance.run;

import io.holdfast.Backend;
import io.holdfast.Device;
import io.holdfast.conformance.Catalogue;
import io.holdfast.conformance.NamedBackend;
import io.holdfast.conformance.Rule;
import io.holdfast.conformance.tap.Tap;
import io.holdfast.device.DeviceInfo;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.StandardBackend;
import io.holdfast.spi.Traits;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * What was judged, where: the head of a report.
 *
 * @param facts by name, in the order of the report
 * @param declaration what the backend claims, line by line
 */
record Host(Map<String, String> facts, List<String> declaration) {
  Host {
    declaration = List.copyOf(declaration);
  }

  /** Opens the backend once and asks. */
  static Host look(String id) {
    Tap tap = new Tap();
    Map<String, String> facts = new LinkedHashMap<>();
    List<String> declaration = new ArrayList<>();
    try (Backend backend = StandardBackend.interposing(tap, () -> NamedBackend.select(id));
        Device device = backend.open(0)) {
      facts.put("backend", backend.id());
      facts.put("kind", backend.kind().name());
      facts.put("version", backend.version());
      facts.put("devices", Integer.toString(backend.devices().size()));
      for (DeviceInfo one : backend.devices()) {
        facts.put(
            "device " + one.ordinal(),
            one.name()
                + ", "
                + one.totalBytes()
                + " bytes"
                + (one.pciAddress().isEmpty() ? "" : ", " + one.pciAddress())
                + (one.numaNode().isEmpty() ? "" : ", node " + one.numaNode().getAsInt()));
      }
      HostKernel kernel = tap.kernel();
      facts.put("kernel", kernel.identity().toString());
      facts.put("base page", Long.toString(kernel.basePageBytes()));
      facts.put("nodes", text(kernel, "/sys/devices/system/node/online").orElse("unknown"));
      facts.put("huge pages", pools(kernel));
      facts.put(
          "lock limit",
          kernel.lockLimitBytes().isEmpty() ? "none" : "" + kernel.lockLimitBytes().getAsLong());

      declaration.add("capabilities " + new TreeSet<>(device.capabilities().present()));
      declaration.add("maxRegistrationBytes " + device.capabilities().maxRegistrationBytes());
      declaration.add("maxBatchEntries " + device.capabilities().maxBatchEntries());
      Traits traits = tap.port().traits(kernel.basePageBytes());
      declaration.add("pinModel " + traits.pinModel());
      declaration.add("alias " + traits.alias());
      declaration.add("quirks " + new TreeSet<>(traits.quirks()));
      declaration.add("maxRegisteredBytes " + traits.maxRegisteredBytes());
      traits
          .bounds()
          .forEach(bound -> declaration.add("bound " + bound.id() + " " + bound.maxBytes()));
    }
    facts.put("declaration", hash(declaration));
    facts.put("kit", version());
    facts.put("rules", Integer.toString(Rule.values().length));
    facts.put("tests", Integer.toString(Catalogue.tests().size()));
    facts.put("java", System.getProperty("java.vm.name") + " " + Runtime.version());
    facts.put("processors", Integer.toString(Runtime.getRuntime().availableProcessors()));
    facts.put("seeds", "fixed in each test");
    new TreeMap<>(System.getProperties())
        .forEach(
            (name, value) -> {
              if (String.valueOf(name).startsWith("holdfast.")
                  && !String.valueOf(name).startsWith("holdfast.conformance.")) {
                facts.put("-D" + name, String.valueOf(value));
              }
            });
    return new Host(facts, declaration);
  }

  private static Optional<String> text(HostKernel kernel, String path) {
    return kernel.text(path).map(String::strip);
  }

  private static String pools(HostKernel kernel) {
    List<String> pools = new ArrayList<>();
    for (String pool : kernel.names("/sys/kernel/mm/hugepages")) {
      String at = "/sys/kernel/mm/hugepages/" + pool + "/";
      pools.add(
          pool.replace("hugepages-", "")
              + ": "
              + text(kernel, at + "free_hugepages").orElse("?")
              + " of "
              + text(kernel, at + "nr_hugepages").orElse("?")
              + " free");
    }
    return pools.isEmpty() ? "none" : String.join(", ", pools);
  }

  static String version() {
    String version = Catalogue.class.getPackage().getImplementationVersion();
    return version == null ? "(development build)" : version;
  }

  private static String hash(List<String> lines) {
    try {
      byte[] digest =
          MessageDigest.getInstance("SHA-256")
              .digest(String.join("\n", lines).getBytes(StandardCharsets.UTF_8));
      return HexFormat.of().formatHex(digest, 0, 8);
    } catch (NoSuchAlgorithmException impossible) {
      throw new AssertionError("every Java has SHA-256", impossible);
    }
  }
}
