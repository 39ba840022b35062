package io.holdfast.backend.cpusim.driver;

import java.util.Objects;

/** The chapter of graph capture. */
abstract class CaptureCalls extends EventCalls {

  CaptureCalls(DriverSetup setup) {
    super(setup);
  }

  /**
   * {@code cuStreamBeginCapture}.
   *
   * @param handle the stream
   * @param mode 0 global, 1 thread-local, 2 relaxed
   * @return the code
   */
  public int streamBeginCapture(long handle, int mode) {
    return callIn(
        Operation.STREAM_BEGIN_CAPTURE,
        handle,
        mode,
        0,
        (thread, context) -> {
          Stream stream = stream(thread, context, handle);
          if (stream == null) {
            return Codes.INVALID_HANDLE;
          }
          if (mode < Capture.GLOBAL || mode > Capture.RELAXED) {
            return Codes.INVALID_VALUE;
          }
          if (stream.kind == Stream.Kind.LEGACY || stream.capture != null) {
            return Codes.STREAM_CAPTURE_UNSUPPORTED;
          }
          Capture capture = new Capture(stream, thread, mode);
          stream.capture = capture;
          stream.capturedNodes = 0;
          captures.add(capture);
          return Codes.SUCCESS;
        });
  }

  /**
   * {@code cuStreamEndCapture}.
   *
   * @param handle the stream it was begun on
   * @param out the graph
   * @return the code; the capture has ended whatever it says, but for 903 and 908
   */
  public int streamEndCapture(long handle, long[] out) {
    return callIn(
        Operation.STREAM_END_CAPTURE,
        handle,
        0,
        0,
        (thread, context) -> {
          Stream stream = stream(thread, context, handle);
          if (stream == null) {
            return Codes.INVALID_HANDLE;
          }
          Capture capture = stream.capture;
          if (capture == null || capture.origin != stream) {
            return Codes.STREAM_CAPTURE_UNMATCHED;
          }
          if (capture.mode != Capture.RELAXED && capture.owner != thread) {
            return Codes.STREAM_CAPTURE_WRONG_THREAD;
          }
          boolean unjoined = capture.joined.stream().anyMatch(other -> other.capturedNodes > 0);
          endCapture(capture);
          if (capture.invalidated) {
            return Codes.STREAM_CAPTURE_INVALIDATED;
          }
          if (unjoined) {
            return Codes.STREAM_CAPTURE_UNJOINED;
          }
          long graph = FIRST_GRAPH + nextHandle++ * 16;
          graphs.put(graph, capture);
          out[0] = graph;
          return Codes.SUCCESS;
        });
  }

  /**
   * {@code cuStreamIsCapturing}.
   *
   * @param handle the stream
   * @return 0 none, 1 active, 2 invalidated, or minus the code
   */
  public int streamIsCapturing(long handle) {
    int code = admit(Operation.STREAM_IS_CAPTURING);
    int status = 0;
    lock.lock();
    try {
      ThreadState thread = carriers.current();
      code = code == Codes.SUCCESS ? contextCode(thread) : code;
      if (code == Codes.SUCCESS) {
        Stream stream = stream(thread, contextOf(thread), handle);
        if (stream == null) {
          code = Codes.INVALID_HANDLE;
        } else if (stream.kind == Stream.Kind.LEGACY && capturedBeside(stream) != null) {
          code = Codes.STREAM_CAPTURE_IMPLICIT;
        } else {
          status = stream.capture == null ? 0 : stream.capture.invalidated ? 2 : 1;
        }
      }
      ledger.write(Operation.STREAM_IS_CAPTURING, handle, status, 0, code);
    } finally {
      lock.unlock();
    }
    remember(code);
    return code == Codes.SUCCESS ? status : -code;
  }

  /**
   * {@code cuGraphLaunch} of a captured graph, instantiated on the way.
   *
   * @param graph of {@link #streamEndCapture}
   * @param handle the stream
   * @return the code
   */
  public int graphLaunch(long graph, long handle) {
    return callIn(
        Operation.GRAPH_LAUNCH,
        graph,
        handle,
        0,
        (thread, context) -> {
          Capture captured = graphs.get(graph);
          Stream stream = stream(thread, context, handle);
          if (captured == null || stream == null) {
            return Codes.INVALID_HANDLE;
          }
          for (Work node : captured.nodes) {
            int code = enqueue(stream, again(node));
            if (code != Codes.SUCCESS) {
              return code;
            }
          }
          return Codes.SUCCESS;
        });
  }

  /**
   * {@code cuGraphDestroy}.
   *
   * @param graph of {@link #streamEndCapture}
   * @return the code
   */
  public int graphDestroy(long graph) {
    return call(
        Operation.GRAPH_DESTROY,
        graph,
        0,
        0,
        () -> graphs.remove(graph) == null ? Codes.INVALID_VALUE : Codes.SUCCESS);
  }

  /**
   * How much was captured into a graph.
   *
   * @param graph of {@link #streamEndCapture}
   * @return the number of its nodes
   */
  public int graphNodes(long graph) {
    lock.lock();
    try {
      return Objects.requireNonNull(graphs.get(graph), "no such graph").nodes.size();
    } finally {
      lock.unlock();
    }
  }
}
