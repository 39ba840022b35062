package io.holdfast.backend.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.error.DriverException;
import io.holdfast.error.DriverFault;
import io.holdfast.spi.EventHandle;
import io.holdfast.spi.EventKind;
import io.holdfast.spi.StreamHandle;
import java.nio.file.Path;
import jcuda.driver.JCudaDriver;
import org.junit.jupiter.api.Test;

/** The same answers through JCuda, and what JCuda lacks. */
final class JCudaDevicePortTest extends CudaDevicePortTest {
  @Override
  PretendDriver driver(Path into) {
    return PretendDriver.throughJCuda();
  }

  @Test
  @Override
  void batchesCopyTheSameBytes() {
    assertTrue(port.batchCopies().isEmpty());
  }

  @Test
  void virtualMemoryDoesNotGoThroughJCuda() {
    assertTrue(port.virtualMemory().isEmpty());
  }

  @Test
  void theBindingSaysWhichItIs() {
    assertEquals("CUDA driver 13.0, libcuda.so.1 through JCuda 12.6.0", pretend.driver().version());
  }

  @Test
  void codesSurviveAnEngineThatHasJCudaThrow() {
    StreamHandle stream = port.createStream(0);
    EventHandle event = port.createEvent(EventKind.ORDER);
    JCudaDriver.setExceptionsEnabled(true);
    try {
      pretend.hold(stream);
      port.recordEvent(event, stream);
      assertFalse(port.eventPassed(event)); // 600 is an answer
      DriverException failure = assertThrows(DriverException.class, () -> port.allocate(1L << 50));
      assertEquals(DriverFault.OUT_OF_MEMORY, failure.fault());
      assertEquals(2, failure.code());
    } finally {
      JCudaDriver.setExceptionsEnabled(false);
      pretend.letGo(stream);
    }
    port.destroyEvent(event);
    port.destroyStream(stream);
  }
}
