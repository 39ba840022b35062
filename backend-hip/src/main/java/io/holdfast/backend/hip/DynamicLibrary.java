package io.holdfast.backend.hip;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.nio.file.Path;

/** Opens a shared library, or says in the system loader's own words why not. */
sealed interface DynamicLibrary {

  /**
   * It is open and stays open: a runtime that has started must not be unloaded.
   *
   * @param symbols its exports
   */
  record Opened(SymbolLookup symbols) implements DynamicLibrary {}

  /**
   * It cannot be opened; nothing was loaded.
   *
   * @param words the loader's, without the library's name
   * @param notFound whether there is no such file, as opposed to one that cannot be used
   */
  record Refused(String words, boolean notFound) implements DynamicLibrary {}

  /**
   * Opens a library.
   *
   * @param name an absolute path, or a name for the system loader to find
   * @return the outcome
   * @throws IllegalCallerException where this module may not call native code
   */
  @SuppressWarnings("restricted")
  static DynamicLibrary open(String name) {
    try {
      return new Opened(
          name.startsWith("/")
              ? SymbolLookup.libraryLookup(Path.of(name), Arena.global())
              : SymbolLookup.libraryLookup(name, Arena.global()));
    } catch (IllegalArgumentException refused) {
      String words = loaderWords(name, String.valueOf(refused.getMessage()));
      // "NAME: cannot open ...": another name there is that of a library which this one needs.
      String own = words.startsWith(name + ": ") ? words.substring(name.length() + 2) : words;
      return new Refused(
          own, own.startsWith("cannot open") && own.endsWith("No such file or directory"));
    }
  }

  /** Asks the loader once more and has it explain itself, since the JDK drops its words. */
  @SuppressWarnings("restricted")
  private static String loaderWords(String name, String otherwise) {
    Linker linker = Linker.nativeLinker();
    SymbolLookup system = linker.defaultLookup();
    MemorySegment dlopen = system.find("dlopen").orElse(MemorySegment.NULL);
    MemorySegment dlerror = system.find("dlerror").orElse(MemorySegment.NULL);
    if (dlopen.address() == 0 || dlerror.address() == 0) {
      return otherwise;
    }
    int now = 2; // RTLD_NOW, dlfcn.h
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment opened =
          (MemorySegment)
              linker
                  .downcallHandle(dlopen, FunctionDescriptor.of(ADDRESS, ADDRESS, JAVA_INT))
                  .invokeExact(arena.allocateFrom(name), now);
      MemorySegment words =
          (MemorySegment)
              linker.downcallHandle(dlerror, FunctionDescriptor.of(ADDRESS)).invokeExact();
      return opened.address() != 0 || words.address() == 0
          ? otherwise
          : words.reinterpret(Long.MAX_VALUE).getString(0);
    } catch (Throwable bug) {
      throw new AssertionError("dlopen could not be called", bug);
    }
  }
}
