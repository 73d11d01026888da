#pragma once

#include <utility>

#include "policy/result.h"

namespace native_runner {

// Owns one file descriptor: move-only, closed by the destructor. Every descriptor of this library
// is close-on-exec; Child duplicates those that a child gets.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { Close(); }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  void Close();
  // Leaves the descriptor open, to whoever gets the number.
  [[nodiscard]] int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

struct PipeEnds {
  Descriptor read;
  Descriptor write;
};

// Returns an Error of code kSetup that names the system call and errno's text.
Error SystemError(const char* call, int error);

Result<PipeEnds> MakePipe();  // pipe2(2), plain pipes: splice(2) works on both ends
Result<Descriptor> OpenPath(const char* path, int flags);
Result<Descriptor> DuplicateOf(int descriptor);

// Makes a memory file that holds `size` bytes. With `seal` no process, not even root's, can change
// it any more, and it may be executed (memfd_create(2), F_ADD_SEALS).
Result<Descriptor> MemoryFile(const char* name, const void* data, std::size_t size, bool seal);

// Makes a sealed copy of a program, so that no command can overwrite the file that later runs start
// (CVE-2019-5736). Errors name the path.
Result<Descriptor> SealedCopy(const std::string& path);

}  // namespace native_runner
