package io.holdfast.clients;

import io.holdfast.Device;
import io.holdfast.backend.cpusim.SimMachine;
import io.holdfast.device.ImportedRegion;
import io.holdfast.device.RegionDescriptor;
import java.util.List;

/** Code of docs/simulator.md. */
final class SimulatorCode {
  private SimulatorCode() {}

  /** Memory that one simulated machine has exported, seen by a device of another. */
  static ImportedRegion importFromAnotherMachine(
      SimMachine here, SimMachine there, Device device, String text) {
    RegionDescriptor sent = RegionDescriptor.parse(text);
    List<Integer> received =
        sent.shares().stream()
            .map(share -> there.calls().receiveDescriptor(here.calls(), share.fileDescriptor()))
            .toList();
    ImportedRegion region = device.memory().importRegion(sent.received(received));
    received.forEach(there.calls()::closeDescriptor);
    return region;
  }
}
