#include "launcher/kernel/text.h"

#include <cerrno>

namespace native_runner {

const char* ErrnoText(int error) {
  switch (error) {
    case EPERM:
      return "Operation not permitted";
    case ENOENT:
      return "No such file or directory";
    case EINTR:
      return "Interrupted system call";
    case EIO:
      return "Input/output error";
    case ENXIO:
      return "No such device or address";
    case E2BIG:
      return "Argument list too long";
    case ENOEXEC:
      return "Exec format error";
    case EBADF:
      return "Bad file descriptor";
    case EAGAIN:
      return "Resource temporarily unavailable";
    case ENOMEM:
      return "Cannot allocate memory";
    case EACCES:
      return "Permission denied";
    case EFAULT:
      return "Bad address";
    case EBUSY:
      return "Device or resource busy";
    case ENODEV:
      return "No such device";
    case ENOTDIR:
      return "Not a directory";
    case EISDIR:
      return "Is a directory";
    case EINVAL:
      return "Invalid argument";
    case ENFILE:
      return "Too many open files in system";
    case EMFILE:
      return "Too many open files";
    case ETXTBSY:
      return "Text file busy";
    case ENOSPC:
      return "No space left on device";
    case EROFS:
      return "Read-only file system";
    case ENAMETOOLONG:
      return "File name too long";
    case ENOSYS:
      return "Function not implemented";
    case ELOOP:
      return "Too many levels of symbolic links";
    case ELIBBAD:
      return "Accessing a corrupted shared library";
    case ENOTSOCK:
      return "Socket operation on non-socket";
    case EOPNOTSUPP:
      return "Operation not supported";
    case EADDRINUSE:
      return "Address already in use";
    case EAFNOSUPPORT:
      return "Address family not supported by protocol";
    case ENOBUFS:
      return "No buffer space available";
    case EPROTO:
      return "Protocol error";
    case ETOOMANYREFS:  // of descriptors in messages: unix(7)
      return "Too many references: cannot splice";
    case ESTALE:
      return "Stale file handle";
    case ETIMEDOUT:
      return "Connection timed out";
    case EDQUOT:
      return "Disk quota exceeded";
    default:
      return "Unknown error";
  }
}

}  // namespace native_runner
