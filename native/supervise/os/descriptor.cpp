#include "supervise/os/descriptor.h"

#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace native_runner {
namespace {

#ifndef MFD_EXEC
constexpr unsigned kMemoryFileExec = 0x10;  // Linux 6.3, memfd_create(2)
#else
constexpr unsigned kMemoryFileExec = MFD_EXEC;
#endif

bool WriteAll(int fd, const void* data, std::size_t size) {
  const char* bytes = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = write(fd, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes += written;
    size -= static_cast<std::size_t>(written);
  }
  return true;
}

Result<Descriptor> NewMemoryFile(const char* name, bool seal) {
  const unsigned flags = MFD_CLOEXEC | (seal ? MFD_ALLOW_SEALING : 0U);
  int fd = memfd_create(name, flags | (seal ? kMemoryFileExec : 0U));
  if (fd < 0 && errno == EINVAL) fd = memfd_create(name, flags);
  if (fd < 0) {
    Error error = SystemError("memfd_create", errno);
    if (errno == EACCES) error.fix = "set the sysctl vm.memfd_noexec to 0 or 1";
    return error;
  }
  return Descriptor(fd);
}

Result<Descriptor> Sealed(Descriptor file) {
  constexpr int kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
  if (fcntl(file.get(), F_ADD_SEALS, kSeals) != 0) return SystemError("fcntl(F_ADD_SEALS)", errno);
  return file;
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    Close();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void Descriptor::Close() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

Error SystemError(const char* call, int error) {
  return Error{ErrorCode::kSetup, std::string(call) + ": " + std::strerror(error), ""};
}

Result<PipeEnds> MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return SystemError("pipe2", errno);
  return PipeEnds{Descriptor(ends[0]), Descriptor(ends[1])};
}

Result<Descriptor> OpenPath(const char* path, int flags) {
  const int fd = open(path, flags | O_CLOEXEC);
  if (fd < 0) return SystemError((std::string("open ") + path).c_str(), errno);
  return Descriptor(fd);
}

Result<Descriptor> DuplicateOf(int descriptor) {
  const int fd = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (fd < 0) return SystemError("fcntl(F_DUPFD_CLOEXEC)", errno);
  return Descriptor(fd);
}

Result<Descriptor> MemoryFile(const char* name, const void* data, std::size_t size, bool seal) {
  auto file = NewMemoryFile(name, seal);
  if (!file) return file;
  if (!WriteAll(file->get(), data, size)) return SystemError("write", errno);
  if (lseek(file->get(), 0, SEEK_SET) != 0) return SystemError("lseek", errno);
  return seal ? Sealed(std::move(*file)) : std::move(file);
}

Result<Descriptor> SealedCopy(const std::string& path) {
  auto source = OpenPath(path.c_str(), O_RDONLY);
  if (!source) return source;
  auto copy = NewMemoryFile("native-runner", true);
  if (!copy) return copy;
  ssize_t moved = 0;
  do {
    moved = sendfile(copy->get(), source->get(), nullptr, std::size_t{1} << 30U);
  } while (moved > 0 || (moved < 0 && errno == EINTR));
  if (moved < 0) return SystemError(("copy " + path).c_str(), errno);
  return Sealed(std::move(*copy));
}

}  // namespace native_runner
