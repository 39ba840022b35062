package io.holdfast.bench.experiment;

import io.holdfast.Backend;
import io.holdfast.Backends;
import io.holdfast.Device;
import io.holdfast.bench.tool.PageOption;
import io.holdfast.device.DeviceAllocation;
import io.holdfast.device.DeviceBlocks;
import io.holdfast.host.HostRequest;
import io.holdfast.host.HostRequest.Limits;
import io.holdfast.layout.BlockShape;
import io.holdfast.pin.PinPacing;
import io.holdfast.pin.PinRequest;
import io.holdfast.pool.HostPool;
import io.holdfast.pool.PoolOptions;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/**
 * One process of several that open a pool at once: each line it reads is a lock file or "none", and
 * it answers with the seconds from open to ready.
 */
final class RankStart {
  private static final BlockShape SHAPE = BlockShape.of(1, 64 << 10);

  private RankStart() {}

  /**
   * Opens pools until its input ends.
   *
   * @param arguments backend, device, pages, bytes
   */
  public static void main(String[] arguments) throws IOException {
    HostRequest request =
        HostRequest.ofBytes(Long.parseLong(arguments[3]))
            .pages(new PageOption().convert(arguments[2]))
            .limits(Limits.ADVISE);
    BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    try (Backend backend = Backends.select(arguments[0]);
        Device device = backend.open(Integer.parseInt(arguments[1]));
        DeviceAllocation memory = device.memory().allocate(8 * SHAPE.bytes())) {
      DeviceBlocks blocks = DeviceBlocks.of(memory.segment(), SHAPE.blockMajor(8));
      HostPool.open(device, blocks, request.logicalBytes(8 * SHAPE.bytes())).close();
      System.out.println("{\"ready\":true}");
      String line = in.readLine();
      while (line != null && !line.equals("quit")) {
        PinPacing pacing = PinPacing.auto();
        PinRequest pin =
            PinRequest.strict().pacing(line.equals("none") ? pacing : pacing.turns(Path.of(line)));
        long begun = System.nanoTime();
        try (HostPool pool =
            HostPool.open(device, blocks, request, PoolOptions.defaults().pin(pin))) {
          double seconds = (System.nanoTime() - begun) / 1e9;
          double longest = pool.pinned().receipt().longestCallNanos() / 1e6;
          System.out.println("{\"seconds\":" + seconds + ",\"longestCallMs\":" + longest + "}");
        }
        line = in.readLine();
      }
    }
  }
}
