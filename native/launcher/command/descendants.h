#pragma once

#include <sys/types.h>

#include <cstddef>

namespace native_runner {

// The processes that descend from us, as /proc shows them: for ending a tree where there is no pid
// namespace to do it. No child of ours may be reaped during a call. A pid can come to another
// process at any time, so whoever is not our own child is looked at again when it is signalled.
class Descendants {
 public:
  enum class Source {
    kChildrenFiles,  // /proc/<pid>/task/<tid>/children: costs what the tree is large
    kStatFiles,      // every /proc/<pid>/stat, for kernels without CONFIG_PROC_CHILDREN
  };
  static Source BestSource();

  explicit Descendants(Source source) : source_(source) {}

  // Walks down the tree and sends `signal`, on the spot, to each that the walk before did not see:
  // a process may live for only microseconds. Returns how many those were.
  std::size_t Walk(int signal);

  // Sends `signal` to all that the last walk saw; returns how many of them live and could be sent
  // it.
  std::size_t SignalAll(int signal) const;

  std::size_t size() const { return now_->size; }
  pid_t operator[](std::size_t index) const { return now_->pids[index]; }

 private:
  // More than fit are signalled all the same; only the next walk will take them for new again.
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
  // The parent of a process that lives and descends from us; -1 for any other.
  pid_t FindParent(pid_t pid) const;

  Source source_;
  int signal_ = 0;
  std::size_t new_ = 0;
  Set sets_[2];
  Set* now_ = &sets_[0];
  Set* before_ = &sets_[1];
};

}  // namespace native_runner
