package io.holdfast.conformance;

import io.holdfast.Backend;
import io.holdfast.Device;
import io.holdfast.backend.cpusim.SimEngine;
import io.holdfast.backend.cpusim.SimMachine;
import io.holdfast.backend.cpusim.driver.Blocker;
import io.holdfast.backend.cpusim.driver.Family;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** A simulated machine, judged with an engine beside it. */
abstract class SimConformance extends BackendConformance {
  private final List<SimMachine> machines = new ArrayList<>();

  /** A new machine, freshly booted. */
  abstract SimMachine boot();

  /** The machine that was booted last: the one that is judged. */
  final SimMachine machine() {
    return machines.getLast();
  }

  /** A new machine, which is the one that is judged from now on. */
  final SimMachine fresh() {
    machines.add(boot());
    return machine();
  }

  @Override
  protected Backend open() {
    return fresh().intoBackend();
  }

  @Override
  protected Optional<Engine> engine(Device device) {
    return Optional.of(new Simulated(machine(), device.info().ordinal()));
  }

  /** An engine of the simulator's. */
  private static final class Simulated implements Engine {
    private final SimMachine machine;
    private final boolean cuda;
    private final SimEngine engine;
    private final List<Long> streams = new ArrayList<>();

    Simulated(SimMachine machine, int device) {
      this.machine = machine;
      this.cuda = machine.calls().personality().family() == Family.CUDA;
      this.engine = cuda ? machine.engine(device) : machine.engineOnSharedContext(device);
    }

    @Override
    public long context() {
      return cuda ? engine.context() : 0;
    }

    @Override
    public void makeCurrent() {
      if (cuda) {
        engine.makeCurrent();
      }
    }

    @Override
    public long current() {
      return cuda ? machine.calls().ctxGetCurrent() : machine.calls().getDevice();
    }

    @Override
    public long newStream() {
      streams.add(engine.newStream());
      return streams.getLast();
    }

    @Override
    public Runnable block(long stream) {
      Blocker busy = engine.block(stream);
      return busy::release;
    }

    @Override
    public long recordedEvent(long stream) {
      long event = engine.newEvent();
      engine.record(event, stream);
      return event;
    }

    @Override
    public boolean usable(long stream) {
      int answer = engine.queryStream(stream);
      return answer == 0 || answer == 600;
    }

    @Override
    public void beginCapture(long stream) {
      engine.beginCapture(stream, SimEngine.CaptureMode.GLOBAL);
    }

    @Override
    public boolean endCapture(long stream) {
      return engine.endCaptureCode(stream) == 0;
    }

    @Override
    public void close() {
      if (cuda && machine.calls().ctxGetCurrent() == engine.context()) {
        engine.makeNoneCurrent();
      }
      engine.close();
    }
  }
}
