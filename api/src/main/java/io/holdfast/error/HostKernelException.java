package io.holdfast.error;

import java.io.Serial;
import java.util.Optional;

/**
 * A system call answered with an errno.
 *
 * <p>The number is the one that the call itself left behind. The category follows from the number
 * alone: a shortage where something countable ran out, unsupported where the call is absent or
 * forbidden, busy where the same call can succeed later, otherwise the operating system. Policy
 * that knows more about the call, for instance that {@link Errno#EFAULT} of a populate call means
 * too few huge pages, throws its own exception with this one as the cause.
 */
public final class HostKernelException extends HoldfastException {
  @Serial private static final long serialVersionUID = 1L;

  private final int errno;

  /**
   * Makes the exception for a call, with the remedy that its number suggests.
   *
   * @param call the call by its C name, for example {@code madvise}
   * @param arguments its arguments in a readable form, without parentheses; may be empty
   * @param errno the error number, positive
   */
  public HostKernelException(String call, String arguments, int errno) {
    this(call, arguments, errno, remedyFor(call, errno));
  }

  /**
   * Makes the exception for a call, with a remedy of the thrower's own.
   *
   * @param call the call by its C name, for example {@code madvise}
   * @param arguments its arguments in a readable form, without parentheses; may be empty
   * @param errno the error number, positive
   * @param remedy what the reader can do, a sentence
   */
  public HostKernelException(String call, String arguments, int errno, String remedy) {
    super(categoryOf(errno), call, what(call, arguments, errno), remedy, null);
    this.errno = errno;
  }

  /**
   * Returns the number, as captured by the call itself.
   *
   * @return the number, positive
   */
  public int errno() {
    return errno;
  }

  /**
   * Returns the symbolic name of the number.
   *
   * @return the name, or {@code errno} and the number where it has none
   */
  public String errnoName() {
    return Errno.nameOf(errno);
  }

  /**
   * Tells whether the number is that one.
   *
   * @param expected the error asked about
   * @return whether the call answered with it
   */
  public boolean is(Errno expected) {
    return errno == expected.number();
  }

  private static String what(String call, String arguments, int errno) {
    Optional<Errno> known = Errno.of(errno);
    String number =
        known.isPresent() ? errno + ", " + known.get().meaning() : Integer.toString(errno);
    String name = known.isPresent() ? known.get().name() : "an error without a name";
    return call + "(" + arguments + ") answered " + name + " (" + number + ")";
  }

  private static Category categoryOf(int errno) {
    Optional<Errno> known = Errno.of(errno);
    if (known.isEmpty()) {
      return Category.OPERATING_SYSTEM;
    }
    return switch (known.get()) {
      case ENOMEM, ENOSPC, EDQUOT, EMFILE, ENFILE -> Category.SHORTFALL;
      case ENOSYS, EOPNOTSUPP, EPERM, EACCES -> Category.UNSUPPORTED;
      case EAGAIN, EBUSY, EINTR, ETXTBSY -> Category.BUSY;
      default -> Category.OPERATING_SYSTEM;
    };
  }

  private static String remedyFor(String call, int errno) {
    String manual = "See the manual page " + call + "(2) for what it means.";
    Optional<Errno> known = Errno.of(errno);
    if (known.isEmpty()) {
      return manual;
    }
    return switch (known.get()) {
      case ENOMEM ->
          "Free memory or huge pages, or raise the limit that binds: the HugeTLB pool, a cgroup"
              + " limit, or vm.max_map_count.";
      case ENOSPC, EDQUOT -> "Free space in that file system, or mount it with a larger size.";
      case EMFILE, ENFILE -> "Close files, or raise the limit of open files (ulimit -n).";
      case ENOSYS ->
          "This kernel, C library or processor architecture has no such call here; do without the"
              + " feature or use a newer system.";
      case EOPNOTSUPP -> "The file system under this file has no such operation; use another.";
      case EPERM, EACCES ->
          "Let this process make the call: look at its capabilities, its seccomp profile, and the"
              + " owner and mode of the file.";
      case EAGAIN, EBUSY, EINTR, ETXTBSY -> "Make the call again.";
      case EHWPOISON -> "A memory page is broken; take the memory module out of service.";
      case EINVAL ->
          "Look whether the kernel knows this option, and whether address and length are whole"
              + " pages of the mapping.";
      default -> manual;
    };
  }
}
