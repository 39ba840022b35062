package io.holdfast.bench;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.Availability;
import io.holdfast.Backends;
import io.holdfast.Transcript;
import io.holdfast.bench.tool.Console;
import io.holdfast.bench.tool.ExitCode;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Shows what discovery sees. */
@Command(
    name = "backends",
    mixinStandardHelpOptions = true,
    description = "Shows every backend, what was tried, and why it can or cannot be used.")
final class BackendsCommand implements Callable<Integer> {
  @Spec private CommandSpec spec = CommandSpec.create(); // replaced by picocli

  @Option(names = "--json", description = "One JSON object on standard output.")
  private boolean json;

  @Override
  public Integer call() {
    Console console = new Console(spec.commandLine().getOut(), spec.commandLine().getErr());
    Transcript transcript = Backends.discover();
    if (json) {
      console.result(TranscriptJson.of(transcript));
    } else {
      console.out().print(transcript.describe());
      console.out().flush();
    }
    boolean usable =
        transcript.entries().stream()
            .anyMatch(entry -> entry.availability() instanceof Availability.Available);
    return usable ? ExitCode.OK : ExitCode.FAILED;
  }

  /** The transcript as JSON. */
  static final class TranscriptJson {
    private TranscriptJson() {}

    static ObjectNode of(Transcript transcript) {
      ObjectNode root = Console.json().createObjectNode();
      ArrayNode backends = root.putArray("backends");
      for (Transcript.Entry entry : transcript.entries()) {
        ObjectNode one = backends.addObject();
        one.put("id", entry.id());
        entry.kind().ifPresent(kind -> one.put("kind", kind.name()));
        one.put("artifact", entry.artifact());
        ArrayNode attempts = one.putArray("attempts");
        entry
            .attempts()
            .forEach(
                attempt ->
                    attempts
                        .addObject()
                        .put("what", attempt.what())
                        .put("outcome", attempt.outcome()));
        switch (entry.availability()) {
          case Availability.Available yes -> {
            one.put("usable", true).put("version", yes.version());
            ArrayNode devices = one.putArray("devices");
            yes.devices()
                .forEach(
                    device -> {
                      ObjectNode node = devices.addObject();
                      node.put("ordinal", device.ordinal())
                          .put("name", device.name())
                          .put("uuid", device.uuid())
                          .put("pciAddress", device.pciAddress())
                          .put("totalBytes", device.totalBytes());
                      device.numaNode().ifPresent(number -> node.put("numaNode", number));
                    });
          }
          case Availability.Unavailable no -> {
            one.put("usable", false).put("reason", no.reason()).put("remedy", no.remedy());
            no.cause().ifPresent(cause -> one.put("cause", cause.toString()));
          }
        }
      }
      transcript
          .chosen()
          .ifPresent(
              choice ->
                  root.putObject("chosen").put("id", choice.id()).put("because", choice.because()));
      return root;
    }
  }
}
