package io.holdfast.device;

/**
 * One physical allocation as others can name it.
 *
 * @param kind how
 * @param fileDescriptor for {@link HandleKind#POSIX_FD}, belongs to the exported region; -1
 *     otherwise
 * @param physicalBytes its size
 */
public record ShareableHandle(HandleKind kind, int fileDescriptor, long physicalBytes) {}
