package io.holdfast.conformance.engine;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.SymbolLookup;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * A library that this process has loaded already. Two copies of a driver share nothing, so an
 * engine must use the one that the backend uses.
 */
final class LoadedLibrary {
  private static final Path MAPS = Path.of("/proc/self/maps");

  private LoadedLibrary() {}

  /**
   * Finds it.
   *
   * @param name how its file's name begins
   * @param property names its file where somebody chose one
   * @return its functions; empty where it is not loaded
   */
  static Optional<SymbolLookup> find(String name, String property) {
    String chosen = System.getProperty(property, "");
    return chosen.isBlank()
        ? file(maps(), name).map(LoadedLibrary::open)
        : Optional.of(open(chosen));
  }

  @SuppressWarnings("restricted")
  private static SymbolLookup open(String file) {
    return SymbolLookup.libraryLookup(Path.of(file), Arena.global());
  }

  private static List<String> maps() {
    try {
      return Files.isReadable(MAPS) ? Files.readAllLines(MAPS) : List.of();
    } catch (IOException unreadable) {
      throw new UncheckedIOException(MAPS + " cannot be read", unreadable);
    }
  }

  /** The first mapped file of that name, in the form of proc(5). */
  static Optional<String> file(List<String> maps, String name) {
    return maps.stream()
        .filter(line -> line.indexOf('/') > 0)
        .map(line -> line.substring(line.indexOf('/')))
        .filter(file -> file.substring(file.lastIndexOf('/') + 1).startsWith(name))
        .findFirst();
  }
}
