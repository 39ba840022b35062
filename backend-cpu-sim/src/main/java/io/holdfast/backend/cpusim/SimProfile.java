package io.holdfast.backend.cpusim;

import io.holdfast.backend.cpusim.driver.DeviceSpec;
import io.holdfast.backend.cpusim.driver.Personalities;
import io.holdfast.backend.cpusim.driver.Personality;
import io.holdfast.backend.cpusim.host.HostSpec;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.Reader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * A simulated machine as data: its host, its devices, its driver.
 *
 * <p>Some come along; {@code -Dholdfast.cpusim.profiles=FOLDER} adds those of a folder, one file
 * {@code NAME.properties} each. The files say what their lines mean. Immutable.
 *
 * @param name how it is asked for, as in {@code cpu-sim:gb200}
 * @param description one sentence
 * @param host the host
 * @param devices the devices
 * @param personality the driver
 */
public record SimProfile(
    String name,
    String description,
    HostSpec host,
    List<DeviceSpec> devices,
    Personality personality) {

  /** Names the folder of further profiles. */
  public static final String FOLDER_PROPERTY = "holdfast.cpusim.profiles";

  private static final List<String> SHIPPED = List.of("h200", "mi350x", "gb200", "wsl2", "laptop");
  private static final String SUFFIX = ".properties";

  /** Checks and copies. */
  public SimProfile {
    Objects.requireNonNull(name, "name");
    Objects.requireNonNull(description, "description");
    Objects.requireNonNull(host, "host");
    devices = List.copyOf(devices);
    Objects.requireNonNull(personality, "personality");
  }

  /**
   * All there are.
   *
   * @return their names: those that come along, then those of the folder
   */
  public static List<String> names() {
    List<String> names = new ArrayList<>(SHIPPED);
    String folder = System.getProperty(FOLDER_PROPERTY, "");
    if (!folder.isEmpty()) {
      try (Stream<Path> files = Files.list(Path.of(folder))) {
        files
            .map(file -> String.valueOf(file.getFileName()))
            .filter(file -> file.endsWith(SUFFIX))
            .map(file -> file.substring(0, file.length() - SUFFIX.length()))
            .filter(name -> !SHIPPED.contains(name))
            .sorted()
            .forEach(names::add);
      } catch (IOException unreadable) {
        System.getLogger(SimProfile.class.getName())
            .log(
                System.Logger.Level.WARNING,
                FOLDER_PROPERTY + "=" + folder + " cannot be read: " + unreadable);
      }
    }
    return List.copyOf(names);
  }

  /**
   * Finds one by name.
   *
   * @param name for example {@code gb200}
   * @return the profile
   * @throws IllegalArgumentException where there is none of that name, with those there are, or
   *     where its file cannot be understood
   */
  public static SimProfile named(String name) {
    if (SHIPPED.contains(name)) {
      try (InputStream in = SimProfile.class.getResourceAsStream("profiles/" + name + SUFFIX)) {
        if (in == null) {
          throw new IllegalStateException("the text of profile " + name + " is missing");
        }
        return read(name, new InputStreamReader(in, StandardCharsets.UTF_8));
      } catch (IOException unreadable) {
        throw new UncheckedIOException("profile " + name, unreadable);
      }
    }
    if (!names().contains(name)) {
      throw new IllegalArgumentException(
          "no simulated machine is named '" + name + "'; there are " + names());
    }
    try {
      return read(Path.of(System.getProperty(FOLDER_PROPERTY, "")).resolve(name + SUFFIX));
    } catch (IOException unreadable) {
      throw new UncheckedIOException("profile " + name, unreadable);
    }
  }

  /**
   * Reads a file.
   *
   * @param file its name without the suffix is the profile's
   * @return the profile
   * @throws IOException where it cannot be read
   * @throws IllegalArgumentException where it cannot be understood
   */
  public static SimProfile read(Path file) throws IOException {
    String name = String.valueOf(file.getFileName());
    try (Reader in = Files.newBufferedReader(file)) {
      return read(
          name.endsWith(SUFFIX) ? name.substring(0, name.length() - SUFFIX.length()) : name, in);
    }
  }

  private static SimProfile read(String name, Reader in) throws IOException {
    Properties lines = new Properties();
    lines.load(in);
    Map<String, String> all = new TreeMap<>();
    lines.stringPropertyNames().forEach(key -> all.put(key, lines.getProperty(key).strip()));
    return parse(name, all);
  }

  /**
   * Reads lines.
   *
   * @param name the profile's name
   * @param lines by key
   * @return the profile
   * @throws IllegalArgumentException where a line is missing, unknown or wrong, with its key
   */
  public static SimProfile parse(String name, Map<String, String> lines) {
    ProfileLines in = new ProfileLines(name, lines);
    Map<String, String> changes = new LinkedHashMap<>();
    in.below("driver.").forEach((key, value) -> changes.put(key, value));
    Personality personality = Personalities.named(in.text("driver"), changes);
    SimProfile profile =
        new SimProfile(name, in.text("description"), in.host(), in.devices(), personality);
    in.finish();
    return profile;
  }

  /**
   * Node of each device that has a PCI address, as sysfs shows it; -1 for unknown.
   *
   * @return by PCI address
   */
  Map<String, Integer> nodesOfDevices() {
    Map<String, Integer> nodes = new TreeMap<>();
    for (DeviceSpec device : devices) {
      if (!device.pciAddress().isEmpty()) {
        nodes.put(device.pciAddress(), device.numaNode().orElse(-1));
      }
    }
    return nodes;
  }
}
