package io.holdfast.device;

import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.UUID;
import java.util.regex.Pattern;

/**
 * Names exported memory to another process: kind, sizes, device, epoch, and where the handles are.
 *
 * <p>As text it is one line of JSON that can be sent by any means. What is parsed may come from
 * anybody: every field is checked, and nothing is opened or taken before {@link
 * DeviceMemory#importRegion}.
 *
 * @param kind how every segment is named
 * @param exporterPid the exporting process, as it sees itself
 * @param exporterToken tells the exporting process from another with the same number
 * @param deviceUuid the device the memory is on; empty where its driver has no such name
 * @param epoch the region's when it was exported
 * @param blocks how many blocks the memory holds
 * @param shares one for each segment, 1 to {@value #MOST_SHARES}
 */
public record RegionDescriptor(
    HandleKind kind,
    long exporterPid,
    String exporterToken,
    String deviceUuid,
    long epoch,
    long blocks,
    List<Share> shares) {
  /** Most segments of one region that can be named. */
  public static final int MOST_SHARES = 4096;

  /** Bytes of a fabric handle. */
  static final int FABRIC_BYTES = 64;

  /** Longest text that is looked at; a share takes less than 256 characters, the rest 512. */
  static final int MOST_CHARACTERS = 256 * MOST_SHARES + 512;

  private static final Pattern NAME = Pattern.compile("[A-Za-z0-9_.:/-]{0,128}");
  private static final String THIS_PROCESS = UUID.randomUUID().toString();

  /** Checks and copies. */
  public RegionDescriptor {
    Objects.requireNonNull(kind, "kind");
    shares = List.copyOf(shares);
    if (exporterPid <= 0) {
      throw new IllegalArgumentException("a process has a positive number, not " + exporterPid);
    }
    requireName("exporterToken", exporterToken);
    requireName("deviceUuid", deviceUuid);
    if (epoch < 0) {
      throw new IllegalArgumentException("an epoch is not negative: " + epoch);
    }
    if (blocks <= 0) {
      throw new IllegalArgumentException("exported memory holds blocks, not " + blocks);
    }
    if (shares.isEmpty() || shares.size() > MOST_SHARES) {
      throw new IllegalArgumentException(
          shares.size() + " segments are not between 1 and " + MOST_SHARES);
    }
    long sum = 0;
    for (Share share : shares) {
      if ((kind == HandleKind.POSIX_FD) != share.fabricHandle().isEmpty()) {
        throw new IllegalArgumentException("a segment is not named by " + kind + ": " + share);
      }
      if (share.physicalBytes() > Long.MAX_VALUE - sum) {
        throw new IllegalArgumentException("the segments exceed " + Long.MAX_VALUE + " bytes");
      }
      sum += share.physicalBytes();
      share.requireHolds(blocks);
    }
  }

  /**
   * Memory that this process exports.
   *
   * @param kind how every segment is named
   * @param deviceUuid the device the memory is on; empty where its driver has no such name
   * @param epoch the region's
   * @param blocks how many blocks the memory holds
   * @param shares one for each segment
   * @return the descriptor
   */
  public static RegionDescriptor ofThisProcess(
      HandleKind kind, String deviceUuid, long epoch, long blocks, List<Share> shares) {
    return new RegionDescriptor(
        kind, ProcessHandle.current().pid(), THIS_PROCESS, deviceUuid, epoch, blocks, shares);
  }

  /**
   * The descriptor that {@link #text()} wrote, checked field by field.
   *
   * @param text one JSON object, of any origin
   * @return the descriptor
   * @throws IllegalArgumentException when a field is missing, unknown, given twice, of the wrong
   *     kind or out of bounds; the message says where
   */
  public static RegionDescriptor parse(String text) {
    return new DescriptorReader(text).read();
  }

  /**
   * One line of JSON, without a line end.
   *
   * @return the text
   */
  public String text() {
    StringBuilder out = new StringBuilder(256 + 160 * shares.size());
    out.append("{\"holdfast\":\"region\",\"version\":1,\"kind\":\"").append(kind);
    out.append("\",\"pid\":").append(exporterPid);
    out.append(",\"token\":\"").append(exporterToken);
    out.append("\",\"device\":\"").append(deviceUuid);
    out.append("\",\"epoch\":").append(epoch);
    out.append(",\"blocks\":").append(blocks);
    out.append(",\"segments\":[");
    for (int i = 0; i < shares.size(); i++) {
      Share share = shares.get(i);
      out.append(i == 0 ? "" : ",");
      out.append("{\"physicalBytes\":").append(share.physicalBytes());
      out.append(",\"logicalBytes\":").append(share.logicalBytes());
      out.append(",\"strideBytes\":").append(share.strideBytes());
      if (kind == HandleKind.POSIX_FD) {
        out.append(",\"fd\":").append(share.fileDescriptor()).append('}');
      } else {
        out.append(",\"fabric\":\"").append(share.fabricHandle()).append("\"}");
      }
    }
    return out.append("]}").toString();
  }

  /**
   * Whether this process exported the memory, or took its descriptors in by {@link #received}.
   *
   * @return true when the file descriptors are this process's own
   */
  public boolean isOfThisProcess() {
    return exporterToken.equals(THIS_PROCESS);
  }

  /**
   * The same memory by file descriptors that came another way, for example over a Unix socket. They
   * stay the caller's and must be open until the import is done.
   *
   * @param fileDescriptors this process's own numbers, one for each segment in order
   * @return a descriptor for this process
   * @throws IllegalArgumentException when the memory is not named by file descriptors, or their
   *     number is wrong
   */
  public RegionDescriptor received(List<Integer> fileDescriptors) {
    if (kind != HandleKind.POSIX_FD || fileDescriptors.size() != shares.size()) {
      throw new IllegalArgumentException(
          String.format(
              Locale.ROOT,
              "%d file descriptors for %d segments named by %s",
              fileDescriptors.size(),
              shares.size(),
              kind));
    }
    List<Share> own = new ArrayList<>(shares.size());
    for (int i = 0; i < shares.size(); i++) {
      Share share = shares.get(i);
      own.add(
          Share.ofFile(
              share.physicalBytes(),
              share.logicalBytes(),
              share.strideBytes(),
              fileDescriptors.get(i)));
    }
    return ofThisProcess(kind, deviceUuid, epoch, blocks, own);
  }

  private static void requireName(String what, String name) {
    if (!NAME.matcher(name).matches()) {
      throw new IllegalArgumentException(
          what + " has at most 128 letters, digits and the characters _.:/-");
    }
  }

  @Override
  public String toString() {
    return text();
  }

  /**
   * One segment's physical memory.
   *
   * @param physicalBytes its one allocation, positive
   * @param logicalBytes bytes of the blocks in it, positive and not above {@code physicalBytes}
   * @param strideBytes from one block to the next, positive
   * @param fileDescriptor the exporter's number, or -1 for a fabric handle
   * @param fabricHandle {@value RegionDescriptor#FABRIC_BYTES} bytes in hexadecimal digits, or
   *     empty for a file descriptor
   */
  public record Share(
      long physicalBytes,
      long logicalBytes,
      long strideBytes,
      int fileDescriptor,
      String fabricHandle) {
    /** Checks. */
    public Share {
      if (physicalBytes <= 0 || logicalBytes <= 0 || strideBytes <= 0) {
        throw new IllegalArgumentException(
            String.format(
                Locale.ROOT,
                "a segment has positive sizes, not %d physical bytes, %d logical bytes, stride %d",
                physicalBytes,
                logicalBytes,
                strideBytes));
      }
      if (logicalBytes > physicalBytes) {
        throw new IllegalArgumentException(
            logicalBytes + " bytes of blocks do not fit " + physicalBytes + " physical bytes");
      }
      Objects.requireNonNull(fabricHandle, "fabricHandle");
      if (fabricHandle.isEmpty()) {
        if (fileDescriptor < 0) {
          throw new IllegalArgumentException(
              "a file descriptor is not negative: " + fileDescriptor);
        }
      } else if (fileDescriptor != -1 || !isHandle(fabricHandle)) {
        throw new IllegalArgumentException(
            "a fabric handle has " + 2 * FABRIC_BYTES + " hexadecimal digits and no descriptor");
      }
    }

    /**
     * A segment by file descriptor.
     *
     * @param physicalBytes its one allocation
     * @param logicalBytes bytes of the blocks in it
     * @param strideBytes from one block to the next
     * @param fileDescriptor the exporter's number
     * @return the share
     */
    public static Share ofFile(
        long physicalBytes, long logicalBytes, long strideBytes, int fileDescriptor) {
      return new Share(physicalBytes, logicalBytes, strideBytes, fileDescriptor, "");
    }

    /**
     * A segment by fabric handle.
     *
     * @param physicalBytes its one allocation
     * @param logicalBytes bytes of the blocks in it
     * @param strideBytes from one block to the next
     * @param handle the handle's bytes
     * @return the share
     */
    public static Share ofFabric(
        long physicalBytes, long logicalBytes, long strideBytes, byte[] handle) {
      return new Share(
          physicalBytes, logicalBytes, strideBytes, -1, HexFormat.of().formatHex(handle));
    }

    /**
     * The fabric handle's bytes.
     *
     * @return a copy; empty for a file descriptor
     */
    public byte[] fabricBytes() {
      return HexFormat.of().parseHex(fabricHandle);
    }

    private static boolean isHandle(String digits) {
      return digits.length() == 2 * FABRIC_BYTES
          && digits.equals(digits.toLowerCase(Locale.ROOT))
          && digits.chars().allMatch(digit -> Character.digit(digit, 16) >= 0 && digit < 128);
    }

    /** All blocks lie in the bytes, the last one perhaps without its padding. */
    private void requireHolds(long blocks) {
      if (blocks - 1 > (logicalBytes - 1) / strideBytes) {
        throw new IllegalArgumentException(
            String.format(
                Locale.ROOT,
                "%d blocks with a stride of %d bytes do not fit %d bytes",
                blocks,
                strideBytes,
                logicalBytes));
      }
    }
  }
}
