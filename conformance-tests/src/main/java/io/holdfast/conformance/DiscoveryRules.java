package io.holdfast.conformance;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.Availability;
import io.holdfast.Backend;
import io.holdfast.BackendUnavailableException;
import io.holdfast.Backends;
import io.holdfast.Transcript;
import io.holdfast.device.DeviceInfo;
import io.holdfast.error.Category;
import io.holdfast.spi.BackendProvider;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** How the backend is found, and what it says of itself before it is opened. */
abstract class DiscoveryRules extends Rules {
  DiscoveryRules(Conformance kit) {
    super(kit);
  }

  /** A backend that was not opened through discovery can be judged, but is not found. */
  private Optional<BackendProvider> provider() {
    Optional<BackendProvider> provider =
        backend.transcript().chosen().flatMap(_ -> kit.provider(backend.id()));
    if (provider.isEmpty()) {
      inverted("discovery of " + backend.id());
      assertThrows(
          BackendUnavailableException.class,
          () -> Backends.select(backend.id() + "-that-nobody-registered"));
    }
    return provider;
  }

  @Test
  @Covers(Rule.DSC_01)
  final void dsc01_the_provider_has_a_plain_id_and_a_known_version() {
    provider()
        .ifPresent(
            provider -> {
              assertTrue(provider.id().matches("[a-z][a-z0-9-]*"), provider.id());
              assertTrue(
                  backend.id().equals(provider.id())
                      || backend.id().startsWith(provider.id() + ":"));
              assertTrue(
                  provider.spiVersion() >= 1
                      && provider.spiVersion() <= BackendProvider.SPI_VERSION);
              assertEquals(backend.kind(), provider.kind());
            });
  }

  @Test
  @Covers(Rule.DSC_02)
  final void dsc02_probing_twice_says_the_same_and_what_opening_finds() {
    provider()
        .ifPresent(
            provider -> {
              List<String> tried = new ArrayList<>();
              Availability first = provider.probe((what, outcome) -> tried.add(what));
              Availability second = provider.probe((_, _) -> {});
              Availability.Available yes = assertInstanceOf(Availability.Available.class, first);
              Availability.Available again = assertInstanceOf(Availability.Available.class, second);
              assertFalse(tried.isEmpty(), "the probe wrote nothing down");
              assertEquals(yes.version(), again.version());
              assertEquals(
                  yes.devices().stream().map(DeviceInfo::uuid).toList(),
                  again.devices().stream().map(DeviceInfo::uuid).toList());
              if (!backend.id().contains(":")) {
                assertEquals(yes.version(), backend.version());
                assertEquals(
                    yes.devices().stream().map(DeviceInfo::name).toList(),
                    backend.devices().stream().map(DeviceInfo::name).toList());
              }
            });
  }

  @Test
  @Covers(Rule.DSC_03)
  final void dsc03_a_variant_that_is_not_there_is_refused_with_those_that_are() {
    provider()
        .ifPresent(
            provider -> {
              IllegalArgumentException refused =
                  assertThrows(
                      IllegalArgumentException.class,
                      () -> provider.open("no-such-variant").close());
              String message = String.valueOf(refused.getMessage());
              assertTrue(message.contains("no-such-variant"), message);
              for (String variant : provider.variants()) {
                assertTrue(message.contains(variant), message);
              }
              BackendUnavailableException unknown =
                  assertThrows(
                      BackendUnavailableException.class,
                      () -> Backends.select(provider.id() + ":no-such-variant"));
              assertEquals(Category.UNAVAILABLE, unknown.category());
              assertFalse(unknown.transcript().entries().isEmpty());
            });
  }

  @Test
  @Covers(Rule.DSC_04)
  final void dsc04_the_transcript_says_what_was_chosen_and_why() {
    provider()
        .ifPresent(
            provider -> {
              Transcript.Choice judged = backend.transcript().chosen().orElseThrow();
              assertEquals(backend.id(), judged.id());
              assertFalse(judged.because().isBlank());
              Transcript seen = Backends.discover();
              assertTrue(seen.entries().stream().anyMatch(one -> one.id().equals(provider.id())));
              try (Backend chosen = Backends.select(backend.id())) {
                Transcript.Choice choice = chosen.transcript().chosen().orElseThrow();
                assertEquals(backend.id(), choice.id());
                assertFalse(choice.because().isBlank());
                assertEquals(chosen.id(), backend.id());
              }
            });
  }
}
