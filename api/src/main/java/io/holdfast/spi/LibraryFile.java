package io.holdfast.spi;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Judges the file of a native library before it is loaded: whoever can change it, or a folder on
 * the way to it, can run code in this process.
 *
 * <p>For paths that a setting names. What the system loader finds by itself is its own choice.
 */
public final class LibraryFile {
  // linux/stat.h; an access control list shows in the group's bits, which are then its mask.
  private static final int TYPE = 0170000;
  private static final int FOLDER = 0040000;
  private static final int LINK = 0120000;
  private static final int STICKY = 0001000;
  private static final int OTHERS_WRITE = 0000022;

  private static final int ROOT = 0;

  /** As many as Linux follows. */
  private static final int MOST_LINKS = 40;

  private final Function<Path, Optional<Facts>> files;
  private final OptionalInt me;

  private LibraryFile(Function<Path, Optional<Facts>> files, OptionalInt me) {
    this.files = files;
    this.me = me;
  }

  /** What is wrong with a path. */
  public enum Flaw {
    /** It is not absolute, so that the working directory chooses the file. */
    RELATIVE,
    /** A file, folder or link on the way belongs to neither root nor this process's user. */
    OWNED_BY_ANOTHER,
    /** Other users may write to the file, or to a folder on the way that is not sticky. */
    WRITABLE_BY_OTHERS,
    /** It is not there, in a folder where any user may put it. */
    OPEN_TO_ALL
  }

  /**
   * Why a library must not be loaded.
   *
   * @param flaw what is wrong
   * @param where the file, folder or link that is meant
   * @param reason a clause with the path in it
   * @param remedy what to do
   */
  public record Distrust(Flaw flaw, Path where, String reason, String remedy) {
    /** Checks. */
    public Distrust {
      Objects.requireNonNull(flaw, "flaw");
      Objects.requireNonNull(where, "where");
      Objects.requireNonNull(reason, "reason");
      Objects.requireNonNull(remedy, "remedy");
    }
  }

  /**
   * Looks at a library's file, at every folder above it, and at what every link on the way leads
   * to. Nothing is opened. Any thread.
   *
   * <p>A path that passes is one that only root and this process's user can change, so what is
   * loaded next is what was looked at. One that leads nowhere passes too, where nobody else can
   * make it lead somewhere: loading it fails. A file system without Unix modes tells nothing, and
   * only a relative path is found fault with there.
   *
   * @param path as it was set
   * @return what is wrong, or empty
   */
  public static Optional<Distrust> distrust(String path) {
    return new LibraryFile(LibraryFile::look, thisUser()).judge(path);
  }

  /** For machines that are told: their files, and the user of this process. */
  static Optional<Distrust> distrust(
      String path, Function<Path, Optional<Facts>> files, OptionalInt me) {
    return new LibraryFile(files, me).judge(path);
  }

  /**
   * What is known of a file, folder or link itself.
   *
   * @param mode type and permissions, as stat gives them
   * @param owner the user's number
   * @param target what a link says; null for anything else
   */
  record Facts(int mode, int owner, @Nullable Path target) {
    boolean isFolder() {
      return (mode & TYPE) == FOLDER;
    }

    boolean isSticky() {
      return (mode & STICKY) != 0;
    }

    boolean isWritableByOthers() {
      return (mode & OTHERS_WRITE) != 0;
    }
  }

  private Optional<Distrust> judge(String path) {
    Path library;
    try {
      library = Path.of(path);
    } catch (InvalidPathException noPath) {
      return Optional.of(relative(path, Path.of("")));
    }
    return library.isAbsolute() ? walk(library) : Optional.of(relative(path, library));
  }

  /** Name by name, as the kernel goes. */
  private Optional<Distrust> walk(Path library) {
    Path top = Objects.requireNonNull(library.getRoot(), "an absolute path has a root");
    Path at = top;
    Facts here = files.apply(top).orElse(null);
    if (here == null) {
      return Optional.empty();
    }
    Optional<Distrust> fault = fault(top, here);
    Deque<Path> names = new ArrayDeque<>();
    library.forEach(names::add);
    int links = 0;
    while (fault.isEmpty() && !names.isEmpty()) {
      String name = names.remove().toString();
      if (name.isEmpty() || name.equals(".")) {
        continue;
      }
      // Above the root is the root.
      Path next =
          name.equals("..") ? Objects.requireNonNullElse(at.getParent(), top) : at.resolve(name);
      Optional<Facts> found = files.apply(next);
      if (found.isEmpty()) {
        return here.isWritableByOthers() ? Optional.of(openToAll(next, at)) : Optional.empty();
      }
      Facts entry = found.get();
      fault = fault(next, entry);
      Path target = entry.target();
      if (target == null) {
        at = next;
        here = entry;
      } else if (++links > MOST_LINKS) {
        return Optional.empty(); // nothing can be opened there
      } else {
        for (int i = target.getNameCount() - 1; i >= 0; i--) {
          names.addFirst(target.getName(i));
        }
        if (target.isAbsolute()) {
          at = top; // which was looked at first
          here = files.apply(top).orElse(here);
        }
      }
    }
    return fault;
  }

  private Optional<Distrust> fault(Path entry, Facts facts) {
    if (facts.owner() != ROOT && (me.isEmpty() || facts.owner() != me.getAsInt())) {
      return Optional.of(
          new Distrust(
              Flaw.OWNED_BY_ANOTHER,
              entry,
              entry + " belongs to user " + facts.owner() + ", who can change it",
              "Give it to root, or name a copy where only root and this user can write"));
    }
    boolean mayBeWritten = facts.target() != null || (facts.isFolder() && facts.isSticky());
    if (facts.isWritableByOthers() && !mayBeWritten) {
      return Optional.of(
          new Distrust(
              Flaw.WRITABLE_BY_OTHERS,
              entry,
              "other users may write to " + entry + modeWords(facts),
              "chmod go-w '"
                  + entry
                  + "', or name a copy where only root and this user can write"));
    }
    return Optional.empty();
  }

  private static String modeWords(Facts facts) {
    return " (mode " + Integer.toOctalString(facts.mode() & ~TYPE) + ")";
  }

  private static Distrust relative(String path, Path where) {
    return new Distrust(
        Flaw.RELATIVE,
        where,
        "'" + path + "' is not an absolute path",
        "Give the absolute path of the library");
  }

  private static Distrust openToAll(Path entry, Path folder) {
    return new Distrust(
        Flaw.OPEN_TO_ALL,
        entry,
        entry + " is not there, and any user may put it into " + folder,
        "Name a library in a folder where only root and this user can write");
  }

  // ---- this machine

  private static Optional<Facts> look(Path file) {
    try {
      Map<String, Object> found =
          Files.readAttributes(file, "unix:mode,uid", LinkOption.NOFOLLOW_LINKS);
      int mode = (Integer) Objects.requireNonNull(found.get("mode"));
      int owner = (Integer) Objects.requireNonNull(found.get("uid"));
      Path target = (mode & TYPE) == LINK ? Files.readSymbolicLink(file) : null;
      return Optional.of(new Facts(mode, owner, target));
    } catch (IOException | UnsupportedOperationException unknown) {
      return Optional.empty();
    }
  }

  /** The user of this process; where that is not known, only root is trusted. */
  private static OptionalInt thisUser() {
    try {
      return OptionalInt.of((Integer) Files.getAttribute(Path.of("/proc/self"), "unix:uid"));
    } catch (IOException | UnsupportedOperationException unknown) {
      return OptionalInt.empty();
    }
  }
}
