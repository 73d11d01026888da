#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

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

// Its name, as proc_pid_comm(5) has it; how many bytes, 0 where /proc does not show it.
std::size_t ReadProgram(pid_t process, char* name, std::size_t size);

// Reads another process' NUL-terminated text, of which at most `size` bytes, the NUL included, are
// wanted. False: it can't be read, or is longer.
bool ReadText(pid_t process, std::uint64_t address, char* text, std::size_t size);

// Closes every descriptor above the control socket, whoever left it open, and marks the socket
// close-on-exec: what the launcher opens later is close-on-exec too, so the command is born with
// 0, 1 and 2 alone.
void CloseInheritedDescriptors();

// Blocks every signal: neither the terminal nor a command of the same user may end the launcher
// before it has ended the tree. And undoes what was inherited (Node ignores SIGPIPE, for one), so
// that the command, for which all are unblocked, starts with the default actions.
void PrepareSignals();

// One user and group of a user namespace, and who they are in the one above it.
struct UserMap {
  long uid = 0;
  long gid = 0;
  long outer_uid = 0;
  long outer_gid = 0;
};

// In a user namespace that is new: these two mean something, and no other id (user_namespaces(7):
// one id may be mapped to one's own once setgroups(2) is given up). `proc`: a directory that shows
// us as "self", on a proc(5) that can be written. The process must be dumpable, or these files are
// root's.
bool MapUser(const UserMap& map, int proc);

// The user stays who he is; by /proc.
bool MapUser(long uid, long gid);

}  // namespace native_runner
