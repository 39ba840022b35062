package io.holdfast.spi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.holdfast.spi.HostKernel.DirectoryHandle;
import io.holdfast.spi.HostKernel.FileFacts;
import io.holdfast.spi.HostKernel.FileHandle;
import io.holdfast.spi.HostKernel.FileKind;
import io.holdfast.spi.HostKernel.Mapping;
import io.holdfast.spi.HostKernel.Reservation;
import io.holdfast.spi.HostKernel.Sharing;
import io.holdfast.spi.HostKernel.ThreadPlace;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

class MappingTest {
  private static final FileHandle FILE = new FileHandle(3);

  @Test
  void anonymousIsPrivateReservedAndOnBasePages() {
    assertEquals(
        new Mapping(Optional.empty(), 0, 0, 0, Sharing.PRIVATE, Reservation.AT_ONCE),
        Mapping.anonymous());
  }

  @Test
  void aFileIsSharedFromItsStartOrFromAnOffset() {
    assertEquals(
        new Mapping(Optional.of(FILE), 0, 0, 0, Sharing.SHARED, Reservation.AT_ONCE),
        Mapping.of(FILE));
    assertEquals(4096, Mapping.of(FILE).from(4096).fileOffset());
    assertEquals(Sharing.PRIVATE, Mapping.of(FILE).with(Sharing.PRIVATE).sharing());
  }

  @Test
  void whatCannotGoTogetherIsRefused() {
    List<Executable> wrong =
        List.of(
            () -> Mapping.anonymous().from(4096),
            () -> Mapping.of(FILE).from(-1),
            () -> Mapping.anonymous().onHugePages(3 << 20),
            () -> Mapping.anonymous().onHugePages(-2),
            () -> Mapping.anonymous().onHugePages(Long.MIN_VALUE),
            () -> Mapping.anonymous().alignedTo(3),
            () -> Mapping.of(FILE).onHugePages(2 << 20),
            () -> Mapping.of(FILE).alignedTo(2 << 20),
            () -> Mapping.anonymous().onHugePages(2 << 20).alignedTo(2 << 20),
            () -> Mapping.anonymous().alignedTo(2 << 20).with(Sharing.SHARED),
            () -> Mapping.anonymous().onHugePages(2 << 20).with(Reservation.NONE));

    for (Executable each : wrong) {
      assertThrows(IllegalArgumentException.class, each);
    }
  }

  @Test
  void aDescriptorIsZeroOrMore() {
    assertThrows(IllegalArgumentException.class, () -> new FileHandle(-1));
    assertThrows(IllegalArgumentException.class, () -> new DirectoryHandle(-1));
  }

  @Test
  void aThreadsPlaceKeepsItsNumbersInOrderAndToItself() {
    ThreadPlace place = new ThreadPlace(0, Set.of(), Set.of(130, 2, 64));

    assertEquals("[2, 64, 130]", place.cpus().toString());
    assertThrows(UnsupportedOperationException.class, () -> place.cpus().clear());
  }

  @Test
  void filesAreTheSameByDeviceAndInode() {
    FileFacts facts = new FileFacts(FileKind.REGULAR, 1, 512, 7, 9, 1, 0, 0600);

    assertTrue(facts.sameFileAs(new FileFacts(FileKind.REGULAR, 2, 1024, 7, 9, 0, 5, 0644)));
    assertFalse(facts.sameFileAs(new FileFacts(FileKind.REGULAR, 1, 512, 8, 9, 1, 0, 0600)));
    assertFalse(facts.sameFileAs(new FileFacts(FileKind.REGULAR, 1, 512, 7, 8, 1, 0, 0600)));
  }
}
