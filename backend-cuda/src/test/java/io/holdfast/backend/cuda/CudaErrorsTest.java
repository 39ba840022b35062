package io.holdfast.backend.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.holdfast.error.DriverFault;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What the driver's codes mean to policy. */
final class CudaErrorsTest {
  @ParameterizedTest
  @CsvSource({
    "1, INVALID_ARGUMENT",
    "2, OUT_OF_MEMORY",
    "3, SHUTTING_DOWN",
    "4, SHUTTING_DOWN",
    "101, INVALID_ARGUMENT",
    "201, INVALID_HANDLE",
    "214, DEVICE_LOST",
    "217, NOT_SUPPORTED",
    "226, DEVICE_LOST",
    "304, OTHER",
    "400, INVALID_HANDLE",
    "700, DEVICE_LOST",
    "709, DEVICE_LOST",
    "712, ALREADY_REGISTERED",
    "713, NOT_REGISTERED",
    "719, DEVICE_LOST",
    "800, NOT_PERMITTED",
    "801, NOT_SUPPORTED",
    "899, OTHER",
    "900, CAPTURE",
    "901, CAPTURE",
    "907, CAPTURE",
    "908, CAPTURE",
    "909, OTHER",
    "999, OTHER",
  })
  void eachCodeHasItsFault(int code, DriverFault fault) {
    assertEquals(fault, CudaErrors.fault(code));
  }
}
