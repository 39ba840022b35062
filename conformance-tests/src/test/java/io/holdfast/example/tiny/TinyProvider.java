package io.holdfast.example.tiny;

import io.holdfast.Availability;
import io.holdfast.Backend;
import io.holdfast.BackendKind;
import io.holdfast.BackendUnavailableException;
import io.holdfast.Transcript;
import io.holdfast.spi.BackendProvider;
import io.holdfast.spi.ProbeLog;
import io.holdfast.spi.StandardBackend;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** Offers libtiny as a backend; the library is named by {@code -Dtiny.library=PATH}. */
public final class TinyProvider implements BackendProvider {
  static final String ID = "tiny";

  /** Loads nothing. */
  public TinyProvider() {}

  @Override
  public int spiVersion() {
    return SPI_VERSION;
  }

  @Override
  public String id() {
    return ID;
  }

  @Override
  public BackendKind kind() {
    return BackendKind.HARDWARE;
  }

  @Override
  public Availability probe(ProbeLog log) {
    String named = System.getProperty("tiny.library", "libtiny.so");
    try {
      Path library = Path.of(named).toAbsolutePath();
      if (!Files.exists(library)) {
        log.tried(named, "there is no such file");
        return Availability.Unavailable.because(
            "libtiny was not found", "Name it with -Dtiny.library=PATH");
      }
      TinyDriver driver = new TinyDriver(new TinyBindings(library));
      log.tried(named, "loaded");
      return StandardBackend.availability(driver, "Plug one in");
    } catch (RuntimeException | LinkageError no) { // no library, or one that lacks a function
      log.tried(named, no.toString());
      return new Availability.Unavailable(
          "libtiny cannot be loaded: " + no,
          "Name a libtiny.so for this machine with -Dtiny.library=PATH",
          Optional.of(no));
    }
  }

  @Override
  public Backend open() {
    if (probe((_, _) -> {}) instanceof Availability.Unavailable no) {
      throw new BackendUnavailableException(
          no.reason(), no.remedy(), new Transcript(List.of(), Optional.empty()), null);
    }
    Path library = Path.of(System.getProperty("tiny.library", "libtiny.so")).toAbsolutePath();
    return StandardBackend.builder(ID, new TinyDriver(new TinyBindings(library)))
        .pinner(SmallSlices::new)
        .build();
  }
}
