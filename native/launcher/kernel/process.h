#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace native_runner {

// The names of a directory's entries, read without allocating. Numbers: pids in /proc, threads in
// /proc/<pid>/task, descriptors in /proc/self/fd.
class ProcDirectory {
 public:
  explicit ProcDirectory(const char* path);
  ~ProcDirectory();
  ProcDirectory(const ProcDirectory&) = delete;
  ProcDirectory& operator=(const ProcDirectory&) = delete;

  bool ok() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  bool NextNumber(int* number);
  // "." and ".." are among them. `name` is valid until the next call.
  bool NextName(const char** name);

 private:
  int descriptor_;
  std::size_t position_ = 0;
  std::size_t filled_ = 0;
  alignas(8) char bytes_[2048] = {};
};

// Process state from /proc/<pid>/stat.
struct ProcessState {
  pid_t parent = 0;
  bool is_dead = false;  // a zombie, or dying
};

// False if the process is gone or /proc can't be read.
bool ReadProcessState(pid_t pid, ProcessState* state);

// True if /proc shows the launcher's own pid namespace, so that its numbers are those of kill(2).
bool IsProcOurs();

// Returns the number that /proc uses for a process of the launcher's pid namespace. /proc may show
// another namespace: a sandbox without a /proc of its own has the host's. 0 if unknown, as for a
// thread that is no process's leader.
pid_t NumberInProc(pid_t process);

// Reads the process's name, as in proc_pid_comm(5). Returns its size in bytes; 0 if /proc does not
// show it.
std::size_t ReadProgram(pid_t process, char* name, std::size_t size);

// Reads a NUL-terminated text of at most `size` bytes, the NUL included, from another process.
// False if it can't be read or is longer.
bool ReadText(pid_t process, std::uint64_t address, char* text, std::size_t size);

// Closes every descriptor above the control socket, whatever its origin, and marks the socket
// close-on-exec. Descriptors that the launcher opens later are close-on-exec too, so the command
// starts with 0, 1 and 2 alone.
void CloseInheritedDescriptors();

// Blocks every signal: neither the terminal nor a command of the same user may end the launcher
// before it has ended the tree. Resets inherited signal actions (Node ignores SIGPIPE, for one), so
// that the command, for which all signals are unblocked, starts with the default actions.
void PrepareSignals();

// One user and group of a user namespace, and their ids in its parent namespace.
struct UserMap {
  long uid = 0;
  long gid = 0;
  long outer_uid = 0;
  long outer_gid = 0;
};

// Maps one user and one group in a new user namespace, and no other ids (user_namespaces(7): an
// unprivileged process may map its own id once setgroups(2) is denied). `proc`: a directory of a
// writable proc(5) that shows the caller as "self". The process must be dumpable; otherwise root
// owns these files.
bool MapUser(const UserMap& map, int proc);

// Maps the user and the group to themselves, through /proc.
bool MapUser(long uid, long gid);

}  // namespace native_runner
