package io.holdfast.error;

import java.util.Optional;

/**
 * The error numbers of Linux, by name.
 *
 * <p>The numbers are those of the kernel header {@code asm-generic/errno.h}, which x86-64 and
 * AArch64 share. {@code EWOULDBLOCK} is {@link #EAGAIN}, {@code EDEADLOCK} is {@link #EDEADLK} and
 * {@code ENOTSUP} is {@link #EOPNOTSUPP}. Immutable, for any thread.
 */
public enum Errno {
  /** Operation not permitted. */
  EPERM(1, "operation not permitted"),
  /** No such file or directory. */
  ENOENT(2, "no such file or directory"),
  /** No such process. */
  ESRCH(3, "no such process"),
  /** Interrupted system call. */
  EINTR(4, "interrupted system call"),
  /** Input/output error. */
  EIO(5, "input/output error"),
  /** No such device or address. */
  ENXIO(6, "no such device or address"),
  /** Argument list too long. */
  E2BIG(7, "argument list too long"),
  /** Exec format error. */
  ENOEXEC(8, "exec format error"),
  /** Bad file descriptor. */
  EBADF(9, "bad file descriptor"),
  /** No child processes. */
  ECHILD(10, "no child processes"),
  /** Resource temporarily unavailable. */
  EAGAIN(11, "resource temporarily unavailable"),
  /** Cannot allocate memory. */
  ENOMEM(12, "cannot allocate memory"),
  /** Permission denied. */
  EACCES(13, "permission denied"),
  /** Bad address. */
  EFAULT(14, "bad address"),
  /** Block device required. */
  ENOTBLK(15, "block device required"),
  /** Device or resource busy. */
  EBUSY(16, "device or resource busy"),
  /** File exists. */
  EEXIST(17, "file exists"),
  /** Invalid cross-device link. */
  EXDEV(18, "invalid cross-device link"),
  /** No such device. */
  ENODEV(19, "no such device"),
  /** Not a directory. */
  ENOTDIR(20, "not a directory"),
  /** Is a directory. */
  EISDIR(21, "is a directory"),
  /** Invalid argument. */
  EINVAL(22, "invalid argument"),
  /** Too many open files in system. */
  ENFILE(23, "too many open files in system"),
  /** Too many open files. */
  EMFILE(24, "too many open files"),
  /** Inappropriate ioctl for device. */
  ENOTTY(25, "inappropriate ioctl for device"),
  /** Text file busy. */
  ETXTBSY(26, "text file busy"),
  /** File too large. */
  EFBIG(27, "file too large"),
  /** No space left on device. */
  ENOSPC(28, "no space left on device"),
  /** Illegal seek. */
  ESPIPE(29, "illegal seek"),
  /** Read-only file system. */
  EROFS(30, "read-only file system"),
  /** Too many links. */
  EMLINK(31, "too many links"),
  /** Broken pipe. */
  EPIPE(32, "broken pipe"),
  /** Numerical argument out of domain. */
  EDOM(33, "numerical argument out of domain"),
  /** Numerical result out of range. */
  ERANGE(34, "numerical result out of range"),
  /** Resource deadlock avoided. */
  EDEADLK(35, "resource deadlock avoided"),
  /** File name too long. */
  ENAMETOOLONG(36, "file name too long"),
  /** No locks available. */
  ENOLCK(37, "no locks available"),
  /** Function not implemented. */
  ENOSYS(38, "function not implemented"),
  /** Directory not empty. */
  ENOTEMPTY(39, "directory not empty"),
  /** Too many levels of symbolic links. */
  ELOOP(40, "too many levels of symbolic links"),
  /** No message of desired type. */
  ENOMSG(42, "no message of desired type"),
  /** Identifier removed. */
  EIDRM(43, "identifier removed"),
  /** Channel number out of range. */
  ECHRNG(44, "channel number out of range"),
  /** Level 2 not synchronized. */
  EL2NSYNC(45, "level 2 not synchronized"),
  /** Level 3 halted. */
  EL3HLT(46, "level 3 halted"),
  /** Level 3 reset. */
  EL3RST(47, "level 3 reset"),
  /** Link number out of range. */
  ELNRNG(48, "link number out of range"),
  /** Protocol driver not attached. */
  EUNATCH(49, "protocol driver not attached"),
  /** No CSI structure available. */
  ENOCSI(50, "no CSI structure available"),
  /** Level 2 halted. */
  EL2HLT(51, "level 2 halted"),
  /** Invalid exchange. */
  EBADE(52, "invalid exchange"),
  /** Invalid request descriptor. */
  EBADR(53, "invalid request descriptor"),
  /** Exchange full. */
  EXFULL(54, "exchange full"),
  /** No anode. */
  ENOANO(55, "no anode"),
  /** Invalid request code. */
  EBADRQC(56, "invalid request code"),
  /** Invalid slot. */
  EBADSLT(57, "invalid slot"),
  /** Bad font file format. */
  EBFONT(59, "bad font file format"),
  /** Device not a stream. */
  ENOSTR(60, "device not a stream"),
  /** No data available. */
  ENODATA(61, "no data available"),
  /** Timer expired. */
  ETIME(62, "timer expired"),
  /** Out of streams resources. */
  ENOSR(63, "out of streams resources"),
  /** Machine is not on the network. */
  ENONET(64, "machine is not on the network"),
  /** Package not installed. */
  ENOPKG(65, "package not installed"),
  /** Object is remote. */
  EREMOTE(66, "object is remote"),
  /** Link has been severed. */
  ENOLINK(67, "link has been severed"),
  /** Advertise error. */
  EADV(68, "advertise error"),
  /** Srmount error. */
  ESRMNT(69, "srmount error"),
  /** Communication error on send. */
  ECOMM(70, "communication error on send"),
  /** Protocol error. */
  EPROTO(71, "protocol error"),
  /** Multihop attempted. */
  EMULTIHOP(72, "multihop attempted"),
  /** RFS specific error. */
  EDOTDOT(73, "RFS specific error"),
  /** Bad message. */
  EBADMSG(74, "bad message"),
  /** Value too large for defined data type. */
  EOVERFLOW(75, "value too large for defined data type"),
  /** Name not unique on network. */
  ENOTUNIQ(76, "name not unique on network"),
  /** File descriptor in bad state. */
  EBADFD(77, "file descriptor in bad state"),
  /** Remote address changed. */
  EREMCHG(78, "remote address changed"),
  /** Can not access a needed shared library. */
  ELIBACC(79, "can not access a needed shared library"),
  /** Accessing a corrupted shared library. */
  ELIBBAD(80, "accessing a corrupted shared library"),
  /** .lib section in a.out corrupted. */
  ELIBSCN(81, ".lib section in a.out corrupted"),
  /** Attempting to link in too many shared libraries. */
  ELIBMAX(82, "attempting to link in too many shared libraries"),
  /** Cannot exec a shared library directly. */
  ELIBEXEC(83, "cannot exec a shared library directly"),
  /** Invalid or incomplete multibyte or wide character. */
  EILSEQ(84, "invalid or incomplete multibyte or wide character"),
  /** Interrupted system call should be restarted. */
  ERESTART(85, "interrupted system call should be restarted"),
  /** Streams pipe error. */
  ESTRPIPE(86, "streams pipe error"),
  /** Too many users. */
  EUSERS(87, "too many users"),
  /** Socket operation on non-socket. */
  ENOTSOCK(88, "socket operation on non-socket"),
  /** Destination address required. */
  EDESTADDRREQ(89, "destination address required"),
  /** Message too long. */
  EMSGSIZE(90, "message too long"),
  /** Protocol wrong type for socket. */
  EPROTOTYPE(91, "protocol wrong type for socket"),
  /** Protocol not available. */
  ENOPROTOOPT(92, "protocol not available"),
  /** Protocol not supported. */
  EPROTONOSUPPORT(93, "protocol not supported"),
  /** Socket type not supported. */
  ESOCKTNOSUPPORT(94, "socket type not supported"),
  /** Operation not supported. */
  EOPNOTSUPP(95, "operation not supported"),
  /** Protocol family not supported. */
  EPFNOSUPPORT(96, "protocol family not supported"),
  /** Address family not supported by protocol. */
  EAFNOSUPPORT(97, "address family not supported by protocol"),
  /** Address already in use. */
  EADDRINUSE(98, "address already in use"),
  /** Cannot assign requested address. */
  EADDRNOTAVAIL(99, "cannot assign requested address"),
  /** Network is down. */
  ENETDOWN(100, "network is down"),
  /** Network is unreachable. */
  ENETUNREACH(101, "network is unreachable"),
  /** Network dropped connection on reset. */
  ENETRESET(102, "network dropped connection on reset"),
  /** Software caused connection abort. */
  ECONNABORTED(103, "software caused connection abort"),
  /** Connection reset by peer. */
  ECONNRESET(104, "connection reset by peer"),
  /** No buffer space available. */
  ENOBUFS(105, "no buffer space available"),
  /** Transport endpoint is already connected. */
  EISCONN(106, "transport endpoint is already connected"),
  /** Transport endpoint is not connected. */
  ENOTCONN(107, "transport endpoint is not connected"),
  /** Cannot send after transport endpoint shutdown. */
  ESHUTDOWN(108, "cannot send after transport endpoint shutdown"),
  /** Too many references: cannot splice. */
  ETOOMANYREFS(109, "too many references: cannot splice"),
  /** Connection timed out. */
  ETIMEDOUT(110, "connection timed out"),
  /** Connection refused. */
  ECONNREFUSED(111, "connection refused"),
  /** Host is down. */
  EHOSTDOWN(112, "host is down"),
  /** No route to host. */
  EHOSTUNREACH(113, "no route to host"),
  /** Operation already in progress. */
  EALREADY(114, "operation already in progress"),
  /** Operation now in progress. */
  EINPROGRESS(115, "operation now in progress"),
  /** Stale file handle. */
  ESTALE(116, "stale file handle"),
  /** Structure needs cleaning. */
  EUCLEAN(117, "structure needs cleaning"),
  /** Not a XENIX named type file. */
  ENOTNAM(118, "not a XENIX named type file"),
  /** No XENIX semaphores available. */
  ENAVAIL(119, "no XENIX semaphores available"),
  /** Is a named type file. */
  EISNAM(120, "is a named type file"),
  /** Remote I/O error. */
  EREMOTEIO(121, "remote I/O error"),
  /** Disk quota exceeded. */
  EDQUOT(122, "disk quota exceeded"),
  /** No medium found. */
  ENOMEDIUM(123, "no medium found"),
  /** Wrong medium type. */
  EMEDIUMTYPE(124, "wrong medium type"),
  /** Operation canceled. */
  ECANCELED(125, "operation canceled"),
  /** Required key not available. */
  ENOKEY(126, "required key not available"),
  /** Key has expired. */
  EKEYEXPIRED(127, "key has expired"),
  /** Key has been revoked. */
  EKEYREVOKED(128, "key has been revoked"),
  /** Key was rejected by service. */
  EKEYREJECTED(129, "key was rejected by service"),
  /** Owner died. */
  EOWNERDEAD(130, "owner died"),
  /** State not recoverable. */
  ENOTRECOVERABLE(131, "state not recoverable"),
  /** Operation not possible due to RF-kill. */
  ERFKILL(132, "operation not possible due to RF-kill"),
  /** Memory page has hardware error. */
  EHWPOISON(133, "memory page has hardware error");

  private static final Errno[] BY_NUMBER = byNumber();

  private final int number;
  private final String meaning;

  Errno(int number, String meaning) {
    this.number = number;
    this.meaning = meaning;
  }

  /**
   * Finds the error with a number.
   *
   * @param number the number, positive
   * @return the error, or empty where the number has no name
   */
  public static Optional<Errno> of(int number) {
    return number > 0 && number < BY_NUMBER.length
        ? Optional.ofNullable(BY_NUMBER[number])
        : Optional.empty();
  }

  /**
   * Names a number, whether it has a name or not.
   *
   * @param number the number
   * @return the symbolic name, or {@code errno} and the number where there is none
   */
  public static String nameOf(int number) {
    return of(number).map(Errno::name).orElse("errno " + number);
  }

  /**
   * Returns the number.
   *
   * @return the number, positive
   */
  public int number() {
    return number;
  }

  /**
   * Returns what the number says, in a few words.
   *
   * @return the words, without a full stop
   */
  public String meaning() {
    return meaning;
  }

  private static Errno[] byNumber() {
    Errno[] all = values();
    Errno[] table = new Errno[all[all.length - 1].number + 1];
    for (Errno errno : all) {
      table[errno.number] = errno;
    }
    return table;
  }
}
