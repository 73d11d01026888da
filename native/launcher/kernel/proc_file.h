#pragma once

#include <sys/types.h>

#include <cstddef>

namespace native_runner {

// The numbers among a directory's entries (pids in /proc, threads in /proc/<pid>/task, descriptors
// in /proc/self/fd), read without allocating.
class ProcDirectory {
 public:
  explicit ProcDirectory(const char* path);
  ~ProcDirectory();
  ProcDirectory(const ProcDirectory&) = delete;
  ProcDirectory& operator=(const ProcDirectory&) = delete;

  bool ok() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  bool NextNumber(int* number);

 private:
  int descriptor_;
  std::size_t position_ = 0;
  std::size_t filled_ = 0;
  alignas(8) char bytes_[2048] = {};
};

// What /proc/<pid>/stat says of a process.
struct ProcessState {
  pid_t parent = 0;
  bool is_dead = false;  // a zombie, or on its way out
};

// False when the process is gone or /proc can't be read.
bool ReadProcessState(pid_t pid, ProcessState* state);

// True when /proc shows our own pid namespace, so that its numbers mean what kill(2) means by them.
bool IsProcOurs();

// What /proc calls a process of our own pid namespace, where it may show another one: a sandbox
// without a /proc of its own has the host's. 0 where it can't be told, as for a thread that leads
// no process.
pid_t NumberInProc(pid_t process);

}  // namespace native_runner
