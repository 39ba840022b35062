package consumer;

import io.holdfast.Backend;
import io.holdfast.Backends;
import io.holdfast.Device;
import io.holdfast.device.DeviceAllocation;

/** Finds the simulator and takes memory of its device; says where the API was found. */
public final class Main {
  private Main() {}

  /**
   * Runs.
   *
   * @param arguments none
   */
  public static void main(String[] arguments) {
    Module api = Backends.class.getModule();
    String by = api.isNamed() ? "module " + api.getName() : "classes";
    try (Backend backend = Backends.select("cpu-sim");
        Device device = backend.open(0);
        DeviceAllocation memory = device.memory().allocate(4096)) {
      System.out.println("allocated " + memory.segment().byteSize() + " by " + by);
    }
  }
}
