package io.holdfast.internal.host;

import io.holdfast.host.HostRegion;
import io.holdfast.host.HostRequest;
import io.holdfast.host.NumaPolicy;
import io.holdfast.host.PageKind;
import io.holdfast.host.ShortfallException;
import io.holdfast.internal.core.CoreBackend;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.HostKernels;
import java.nio.file.Path;

/**
 * Maps a region again and again, in a process that others starve, and says what came of each try:
 * {@code region}, or the first limit of the shortfall.
 *
 * <p>Arguments: how often; bytes; pages ({@code base}, a HugeTLB size, or a directory); the tree
 * that stands in for the machine's own texts, so that a limit can be hidden from the check and only
 * the kernel refuses; a node to bind, or {@code inherit}.
 */
final class Starving {
  private Starving() {}

  @SuppressWarnings("SystemOut") // it is how a child talks to the test
  public static void main(String[] arguments) {
    int times = Integer.parseInt(arguments[0]);
    HostRequest request =
        HostRequest.ofBytes(Long.parseLong(arguments[1])).pages(pages(arguments[2]));
    if (!arguments[4].equals("inherit")) {
      request = request.numa(NumaPolicy.bind(Integer.parseInt(arguments[4])));
    }
    HostKernel kernel = HostKernels.systemWithTree(Path.of(arguments[3]));
    try (CoreBackend backend = NoDevices.backend(kernel)) {
      for (int i = 0; i < times; i++) {
        System.out.println(once(backend, request));
      }
    }
  }

  private static String once(CoreBackend backend, HostRequest request) {
    try (HostRegion region = backend.pageSource().map(request)) {
      region.segment().fill((byte) 1);
      return "region";
    } catch (ShortfallException lost) {
      return lost.shortfall().limits().getFirst().describe();
    }
  }

  private static PageKind pages(String text) {
    if (text.equals("base")) {
      return PageKind.base();
    }
    return text.startsWith("/")
        ? PageKind.directory(Path.of(text))
        : PageKind.hugeTlb(Long.parseLong(text));
  }
}
