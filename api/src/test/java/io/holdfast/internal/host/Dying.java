package io.holdfast.internal.host;

import io.holdfast.host.HostRequest;
import io.holdfast.host.PageKind;
import io.holdfast.host.SharedRequest;
import io.holdfast.internal.core.CoreBackend;
import io.holdfast.spi.HostKernels;
import java.nio.file.Path;
import java.time.Duration;

/**
 * Says that it begins, and then works until it is killed. Arguments: {@code map} makes and closes
 * regions for ever, {@code populate} makes one large region, {@code share} waits for a rank that
 * never comes, {@code shared} joins as the rank of the second argument and stays; then pages and
 * bytes.
 */
final class Dying {
  private Dying() {}

  @SuppressWarnings("SystemOut") // it is how a child talks to the test
  public static void main(String[] arguments) throws Exception {
    int rank = Integer.parseInt(arguments[1]);
    HostRequest request =
        HostRequest.ofBytes(Long.parseLong(arguments[3]))
            .pages(
                arguments[2].startsWith("/")
                    ? PageKind.directory(Path.of(arguments[2]))
                    : PageKind.hugeTlb(Long.parseLong(arguments[2])));
    SharedRequest shared = SharedRequest.named("dying", 2, request).patience(Duration.ofMinutes(5));
    try (CoreBackend backend = NoDevices.backend(HostKernels.system())) {
      switch (arguments[0]) {
        case "map" -> {
          System.out.println("begins");
          while (true) {
            backend.pageSource().map(request).close();
          }
        }
        case "populate" -> {
          System.out.println("begins");
          backend.pageSource().map(request);
        }
        case "share" -> {
          System.out.println("begins");
          backend.pageSource().share(shared, rank);
        }
        case "shared" -> {
          backend.pageSource().share(shared, rank);
          System.out.println("begins");
        }
        default -> throw new IllegalArgumentException(arguments[0]);
      }
      Thread.sleep(Duration.ofHours(1));
    }
  }
}
