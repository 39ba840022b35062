package io.holdfast.internal.pin;

import static io.holdfast.internal.pin.Bench.BASE;
import static io.holdfast.internal.pin.Bench.MIB;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.error.HostKernelException;
import io.holdfast.error.SettingException;
import io.holdfast.pin.PinException;
import io.holdfast.pin.Pinner;
import io.holdfast.spi.HostKernel;
import io.holdfast.spi.HostKernel.DirectoryHandle;
import io.holdfast.spi.HostKernel.FileHandle;
import io.holdfast.spi.HostKernel.LockMode;
import io.holdfast.spi.HostKernel.OpenMode;
import io.holdfast.spi.HostKernels;
import io.holdfast.spi.Traits;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** Desks with a common ledger, as those of several processes, on this machine's own files. */
@EnabledOnOs(OS.LINUX)
class PinLedgerTest {
  @TempDir Path folder;

  private final HostKernel kernel = HostKernels.system();
  private final List<String> notes = new ArrayList<>();

  @BeforeEach
  void set() {
    System.setProperty(Pinner.LEDGER_PROPERTY, folder.toString());
    System.setProperty(Pinner.BUDGET_PROPERTY, Long.toString(100 * MIB));
  }

  @AfterEach
  void clear() {
    System.clearProperty(Pinner.LEDGER_PROPERTY);
    System.clearProperty(Pinner.BUDGET_PROPERTY);
  }

  private PinDesk.Claim claim(PinDesk desk, long offset, long bytes) {
    return desk.claim(pages(offset, bytes), Traits.plain(), Set.of(), notes);
  }

  @SuppressWarnings("restricted") // never read
  private static MemorySegment pages(long offset, long bytes) {
    return MemorySegment.ofAddress(BASE + offset).reinterpret(bytes);
  }

  private List<String> accounts() throws Exception {
    try (Stream<Path> files = Files.list(folder)) {
      return files
          .map(file -> String.valueOf(file.getFileName()))
          .filter(name -> name.startsWith("holdfast-pins-"))
          .toList();
    }
  }

  @Test
  void theBudgetCountsAllThatShareTheLedger() throws Exception {
    try (PinDesk one = new PinDesk("one", kernel);
        PinDesk other = new PinDesk("other", kernel)) {
      PinDesk.Claim first = claim(one, 0, 60 * MIB);
      claim(other, 0, 30 * MIB);
      PinException over = assertThrows(PinException.class, () -> claim(other, 50 * MIB, 11 * MIB));
      assertEquals(PinException.Reason.HOST_BUDGET, over.reason());
      assertTrue(
          String.valueOf(over.getMessage()).contains(60 * MIB + " in other processes"),
          over.getMessage());
      assertThrows(PinException.class, () -> one.requireRoom(11 * MIB, Traits.plain(), Set.of()));
      one.requireRoom(10 * MIB, Traits.plain(), Set.of());
      one.keepOnly(first, 20 * MIB);
      claim(other, 50 * MIB, 50 * MIB);
      assertEquals(2, accounts().size());
    }
    assertEquals(List.of(), accounts());
  }

  @Test
  void aProcessThatEndedCountsNoMore() throws Exception {
    DirectoryHandle directory = kernel.openDirectory(folder);
    FileHandle dead = kernel.open(directory, "holdfast-pins-1-0", OpenMode.CREATE_NEW);
    kernel.resize(dead, 90 * MIB);
    assertTrue(kernel.tryLock(dead, LockMode.EXCLUSIVE));
    try (PinDesk desk = new PinDesk("mine", kernel)) {
      assertThrows(PinException.class, () -> claim(desk, 0, 20 * MIB));
      kernel.close(dead); // as the kernel does when a process ends
      claim(desk, 0, 20 * MIB);
      assertEquals(1, accounts().size());
    }
    kernel.close(directory);
  }

  @Test
  void aLedgerThatIsNotThereIsAnError() {
    System.setProperty(Pinner.LEDGER_PROPERTY, folder.resolve("absent").toString());
    try (PinDesk desk = new PinDesk("mine", kernel)) {
      SettingException refused =
          assertThrows(SettingException.class, () -> claim(desk, 0, 20 * MIB));

      assertEquals(Pinner.LEDGER_PROPERTY, refused.setting());
      assertInstanceOf(HostKernelException.class, refused.getCause());
    }
  }

  @Test
  void withoutALedgerAProcessCountsItself() {
    System.clearProperty(Pinner.LEDGER_PROPERTY);
    try (PinDesk one = new PinDesk("one", kernel);
        PinDesk other = new PinDesk("other", kernel)) {
      claim(one, 0, 60 * MIB);
      claim(other, 0, 60 * MIB);
      assertThrows(PinException.class, () -> claim(other, 60 * MIB, 60 * MIB));
    }
  }
}
