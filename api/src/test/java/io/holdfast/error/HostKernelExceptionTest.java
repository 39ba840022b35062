package io.holdfast.error;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Optional;
import org.junit.jupiter.api.Test;

class HostKernelExceptionTest {
  @Test
  void itCarriesTheCallItsArgumentsTheNumberAndTheName() {
    HostKernelException thrown = new HostKernelException("madvise", "0x1000, 4096", 14);

    assertEquals("madvise", thrown.operation());
    assertEquals(14, thrown.errno());
    assertEquals("EFAULT", thrown.errnoName());
    assertTrue(thrown.is(Errno.EFAULT));
    assertFalse(thrown.is(Errno.ENOMEM));
    assertTrue(
        String.valueOf(thrown.getMessage())
            .startsWith("madvise(0x1000, 4096) answered EFAULT (14, bad address). "),
        thrown.getMessage());
  }

  @Test
  void theNumberDecidesTheCategory() {
    assertEquals(Category.SHORTFALL, categoryOf(Errno.ENOMEM));
    assertEquals(Category.SHORTFALL, categoryOf(Errno.ENOSPC));
    assertEquals(Category.UNSUPPORTED, categoryOf(Errno.ENOSYS));
    assertEquals(Category.UNSUPPORTED, categoryOf(Errno.EPERM));
    assertEquals(Category.BUSY, categoryOf(Errno.EINTR));
    assertEquals(Category.BUSY, categoryOf(Errno.EAGAIN));
    assertEquals(Category.OPERATING_SYSTEM, categoryOf(Errno.EFAULT));
    assertEquals(Category.OPERATING_SYSTEM, categoryOf(Errno.EHWPOISON));
  }

  @Test
  void everyNumberHasARemedyEvenOneWithoutAName() {
    for (Errno errno : Errno.values()) {
      HostKernelException thrown = new HostKernelException("mmap", "", errno.number());
      assertEquals(errno.name(), thrown.errnoName());
      assertTrue(thrown.remedy().endsWith("."), thrown.remedy());
    }
    HostKernelException strange = new HostKernelException("mmap", "", 9999);
    assertEquals("errno 9999", strange.errnoName());
    assertEquals(Category.OPERATING_SYSTEM, strange.category());
    assertTrue(
        String.valueOf(strange.getMessage())
            .startsWith("mmap() answered an error without a name (9999)"));
  }

  @Test
  void aThrowersOwnRemedyReplacesTheGeneralOne() {
    assertEquals("Do this.", new HostKernelException("mmap", "", 12, "Do this.").remedy());
  }

  @Test
  void numbersFindTheirNames() {
    assertEquals(Optional.of(Errno.EHWPOISON), Errno.of(133));
    assertEquals(Optional.empty(), Errno.of(41));
    assertEquals(Optional.empty(), Errno.of(0));
    assertEquals(Optional.empty(), Errno.of(-12));
    assertEquals(Optional.empty(), Errno.of(134));
  }

  private static Category categoryOf(Errno errno) {
    return new HostKernelException("call", "", errno.number()).category();
  }
}
