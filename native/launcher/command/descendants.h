#pragma once

#include <sys/types.h>

#include <cstddef>

namespace native_runner {

// The launcher's descendants as /proc shows them, for ending a tree that has no pid namespace. No
// child of the launcher may be reaped during a call. A pid can be reused at any time, so a process
// that is not an own child is checked again when it is signalled.
class Descendants {
 public:
  enum class Source {
    kChildrenFiles,  // /proc/<pid>/task/<tid>/children: cost grows with the tree
    kStatFiles,      // every /proc/<pid>/stat, for kernels without CONFIG_PROC_CHILDREN
  };
  static Source BestSource();

  explicit Descendants(Source source) : source_(source) {}

  // Walks down the tree and immediately sends `signal` to each process that the previous walk did
  // not see, as a process may live for only microseconds. Returns the number of new processes.
  std::size_t Walk(int signal);

  // Sends `signal` to every process that the last walk saw. Returns how many were alive and
  // received it.
  std::size_t SignalAll(int signal) const;

  std::size_t size() const { return now_->size; }
  pid_t operator[](std::size_t index) const { return now_->pids[index]; }

 private:
  // Processes beyond the capacity are signalled too, but the next walk takes them for new again.
  static constexpr std::size_t kCapacity = 4096;
  struct Set {  // NOLINT(cppcoreguidelines-pro-type-member-init): `size` of the pids are filled
    bool Contains(pid_t pid) const;
    void Add(pid_t pid);

    std::size_t size = 0;
    pid_t pids[kCapacity];
  };

  void Meet(pid_t pid, bool is_child);
  void MeetChildrenOf(pid_t pid);
  void MeetChildrenIn(const char* path, bool are_ours);
  bool ScanStatFiles();
  bool SendChecked(pid_t pid, int signal) const;
  // Returns the parent of a live descendant of the launcher; -1 for any other process.
  pid_t FindParent(pid_t pid) const;

  Source source_;
  int signal_ = 0;
  std::size_t new_ = 0;
  Set sets_[2];
  Set* now_ = &sets_[0];
  Set* before_ = &sets_[1];
};

}  // namespace native_runner
