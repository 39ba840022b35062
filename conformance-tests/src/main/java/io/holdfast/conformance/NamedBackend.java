package io.holdfast.conformance;

import io.holdfast.Backend;
import io.holdfast.Backends;
import io.holdfast.Selection;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.List;

/** The backend that is named by {@value #ID}; what the command runs. */
public final class NamedBackend extends BackendConformance {
  /** System property: the backend's id, with a variant behind a colon where one is meant. */
  public static final String ID = "holdfast.conformance.backend";

  /** System property: a file of quarantines, one a line; {@code #} begins a comment. */
  public static final String QUARANTINE = "holdfast.conformance.quarantine";

  /** Made by JUnit. */
  public NamedBackend() {}

  /**
   * The backend of that name, also from the thread's context class loader.
   *
   * @param id for example {@code cuda} or {@code cpu-sim:gb200}
   * @return open
   */
  public static Backend select(String id) {
    ClassLoader more = Thread.currentThread().getContextClassLoader();
    Selection selection = Selection.of(id);
    return Backends.select(more == null ? selection : selection.loaders(more));
  }

  @Override
  protected Backend open() {
    String id = System.getProperty(ID, "");
    if (id.isBlank()) {
      throw new IllegalStateException("no backend is named by -D" + ID + "=ID");
    }
    return select(id);
  }

  @Override
  protected List<Quarantine> quarantine() {
    String file = System.getProperty(QUARANTINE, "");
    if (file.isBlank()) {
      return List.of();
    }
    try {
      return Quarantine.read(Path.of(file));
    } catch (IOException unreadable) {
      throw new UncheckedIOException("the quarantines of " + file, unreadable);
    }
  }
}
