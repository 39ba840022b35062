package io.holdfast.internal.host;

import io.holdfast.host.HostRequest;
import io.holdfast.host.PageKind;
import io.holdfast.host.SharedRequest;
import io.holdfast.host.SharingException;
import io.holdfast.internal.core.CoreBackend;
import io.holdfast.spi.HostKernels;
import java.nio.file.Path;
import java.time.Duration;

/**
 * Joins two other ranks, of which one never comes, and says why that failed. Arguments: its rank
 * and the directory.
 */
final class Waiting {
  private Waiting() {}

  @SuppressWarnings("SystemOut") // it is how a child talks to the test
  public static void main(String[] arguments) {
    System.out.println("begins");
    try (CoreBackend backend = NoDevices.backend(HostKernels.system())) {
      HostRequest request =
          HostRequest.ofBytes(1 << 20).pages(PageKind.directory(Path.of(arguments[1])));
      backend
          .pageSource()
          .share(
              SharedRequest.named("waiting", 3, request).patience(Duration.ofMinutes(5)),
              Integer.parseInt(arguments[0]));
    } catch (SharingException failed) {
      System.out.println(failed.reason() + " " + failed.joined() + " of " + failed.ranks());
    }
  }
}
