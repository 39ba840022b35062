package io.holdfast.backend.cpusim;

import io.holdfast.Availability;
import io.holdfast.Backend;
import io.holdfast.BackendKind;
import io.holdfast.device.DeviceInfo;
import io.holdfast.spi.BackendProvider;
import io.holdfast.spi.ProbeLog;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;

/** Offers the simulator as a backend; it is never chosen unless allowed or named. */
public final class CpuSimProvider implements BackendProvider {
  /** Loads nothing. */
  public CpuSimProvider() {}

  @Override
  public int spiVersion() {
    return SPI_VERSION;
  }

  @Override
  public String id() {
    return SimAccelerator.BACKEND;
  }

  @Override
  public BackendKind kind() {
    return BackendKind.SIMULATOR;
  }

  @Override
  public Availability probe(ProbeLog log) {
    Optional<IllegalCallerException> refused = nativeAccessRefused();
    if (refused.isPresent()) {
      log.tried("native access", "refused by the runtime");
      Module module = CpuSimProvider.class.getModule();
      String name = module.isNamed() ? module.getName() + ",io.holdfast.api" : "ALL-UNNAMED";
      return new Availability.Unavailable(
          "the Java runtime refuses native access to " + module,
          "Start it with --enable-native-access=" + name,
          refused.map(Throwable.class::cast));
    }
    try (SimMachine machine = SimMachine.plain()) {
      String label = machine.calls().personality().label();
      List<DeviceInfo> devices =
          machine.driver().devices().stream()
              .map(
                  facts ->
                      new DeviceInfo(
                          facts.ordinal(),
                          facts.name(),
                          facts.uuid(),
                          facts.pciAddress(),
                          facts.totalBytes(),
                          facts.numaNode()))
              .toList();
      log.tried(label, devices.size() + " simulated devices on this machine's own memory");
      return new Availability.Available(label, devices);
    }
  }

  @Override
  public List<String> variants() {
    return SimProfile.names();
  }

  @Override
  public Backend open() {
    return SimMachine.plain().intoBackend();
  }

  @Override
  public Backend open(String variant) {
    return SimMachine.of(SimProfile.named(variant)).intoBackend();
  }

  /** The flag alone does not tell: without it the runtime may warn or refuse. */
  @SuppressWarnings("restricted")
  private static Optional<IllegalCallerException> nativeAccessRefused() {
    try {
      MemorySegment _ = MemorySegment.NULL.reinterpret(0);
      return Optional.empty();
    } catch (IllegalCallerException refused) {
      return Optional.of(refused);
    }
  }
}
