package io.holdfast.spi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.spi.HostKernel.Pages;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

class HostKernelsTest {
  @Test
  @EnabledOnOs(OS.LINUX)
  void linuxHasItsOwnPort() {
    HostKernel kernel = HostKernels.system();

    assertEquals(Pages.KERNEL, kernel.pages());
    assertEquals("Linux", kernel.identity().system());
    assertTrue(kernel.text("/proc/meminfo").orElseThrow().startsWith("MemTotal:"));
    assertTrue(kernel.toString().startsWith("kernel pages of Linux "), kernel.toString());
  }

  @Test
  @DisabledOnOs(OS.LINUX)
  void otherSystemsHavePlainSegments() {
    assertEquals(Pages.PLAIN, HostKernels.system().pages());
  }
}
