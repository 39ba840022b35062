package io.holdfast.internal.copy;

import io.holdfast.device.DeviceInfo;
import io.holdfast.error.SettingException;
import io.holdfast.internal.core.CoreDevice;
import io.holdfast.spi.HostKernel;
import java.io.IOException;
import java.io.Reader;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import java.util.Properties;
import org.jspecify.annotations.Nullable;

/**
 * Keeps measured profiles over processes: one file for each device, driver and link, in the folder
 * that {@link #folder} names. A file that cannot be read, or belongs to something else, counts as
 * none.
 */
final class ProfileStore {
  /** Names the folder; the empty text keeps nothing. */
  static final String FOLDER_PROPERTY = "holdfast.cache";

  private static final String KEY = "of";

  private final @Nullable Path folder;

  ProfileStore(@Nullable Path folder) {
    this.folder = folder;
  }

  /**
   * The folder by the system property {@value #FOLDER_PROPERTY}, else {@code holdfast} in {@code
   * XDG_CACHE_HOME} or {@code ~/.cache}.
   *
   * @throws SettingException where the property names something else than a folder
   */
  static ProfileStore ofThisUser() {
    String named = System.getProperty(FOLDER_PROPERTY);
    if (named != null) {
      return new ProfileStore(folder(named));
    }
    String caches = System.getenv("XDG_CACHE_HOME");
    if (caches != null && !caches.isEmpty()) {
      return new ProfileStore(under(path(caches), "holdfast"));
    }
    Path home = path(System.getProperty("user.home", ""));
    return new ProfileStore(under(under(home, ".cache"), "holdfast"));
  }

  private static @Nullable Path folder(String named) {
    Path folder = path(named);
    if (!named.isEmpty()
        && (folder == null || (Files.exists(folder) && !Files.isDirectory(folder)))) {
      throw new SettingException(FOLDER_PROPERTY, named, "a folder", null);
    }
    return folder;
  }

  private static @Nullable Path path(String text) {
    try {
      return text.isEmpty() ? null : Path.of(text);
    } catch (InvalidPathException nonsense) {
      return null;
    }
  }

  private static @Nullable Path under(@Nullable Path parent, String name) {
    return parent == null ? null : parent.resolve(name);
  }

  /** Where profiles are kept, or empty. */
  Optional<Path> folder() {
    return Optional.ofNullable(folder);
  }

  /** What a profile is of: anything that differs makes it another. */
  static String keyOf(CoreDevice device) {
    DeviceInfo info = device.info();
    HostKernel kernel = device.backend().kernel();
    String pci = info.pciAddress().isEmpty() ? "" : "/sys/bus/pci/devices/" + info.pciAddress();
    return String.join(
        "; ",
        device.backend().id(),
        device.backend().version(),
        info.name(),
        info.uuid().isEmpty() ? "device " + info.ordinal() : info.uuid(),
        // The greatest speed: the current one falls while a link is idle.
        pci.isEmpty() ? "no link" : text(kernel, pci + "/max_link_speed"),
        pci.isEmpty() ? "" : text(kernel, pci + "/current_link_width"),
        CopyProfile.SIZES.length + " sizes"); // a profile of fewer would count as unmeasured
  }

  private static String text(HostKernel kernel, String path) {
    return kernel.text(path).map(String::strip).orElse("unknown");
  }

  private static String fileName(String key) {
    return String.format(
        Locale.ROOT,
        "copy-profile-%08x%08x.properties",
        key.hashCode(),
        Objects.hash(key.length(), key.toUpperCase(Locale.ROOT)));
  }

  /** The profile that was kept. */
  Optional<CopyProfile> load(String key) {
    if (folder == null) {
      return Optional.empty();
    }
    Properties text = new Properties();
    try (Reader in = Files.newBufferedReader(folder.resolve(fileName(key)))) {
      text.load(in);
    } catch (IOException | IllegalArgumentException unreadable) {
      return Optional.empty();
    }
    return key.equals(text.getProperty(KEY)) ? CopyProfile.fromProperties(text) : Optional.empty();
  }

  /** Keeps a profile; a failure only means that the next process measures again. */
  boolean save(String key, CopyProfile profile) {
    if (folder == null) {
      return false;
    }
    Properties text = profile.toProperties();
    text.setProperty(KEY, key);
    Path made = null;
    try {
      Files.createDirectories(folder);
      made = Files.createTempFile(folder, "copy-profile", ".new");
      try (Writer out = Files.newBufferedWriter(made, StandardCharsets.UTF_8)) {
        text.store(out, "What copies cost here. Delete it to measure again.");
      }
      Files.move(
          made,
          folder.resolve(fileName(key)),
          StandardCopyOption.ATOMIC_MOVE,
          StandardCopyOption.REPLACE_EXISTING);
      return true;
    } catch (IOException unwritable) {
      delete(made);
      return false;
    }
  }

  private static void delete(@Nullable Path left) {
    if (left != null) {
      try {
        Files.deleteIfExists(left);
      } catch (IOException _) {
        return; // it is a few kilobytes in a cache
      }
    }
  }
}
