#pragma once

#include <sys/types.h>

#include <cstdint>

#include "launcher/trace/tracer.h"
#include "protocol/report.h"

namespace native_runner {

// The launcher's child processes: the command, and the orphans of its tree that the kernel
// reparents to the launcher.
class Children {
 public:
  explicit Children(pid_t command, Tracer* tracer = nullptr);
  ~Children();
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  // Readable when a child changed state since the last Reap(); negative if it could not be opened.
  int signal_descriptor() const { return signals_; }

  // Collects ended children and resumes those that stopped for the tracer, without waiting; handles
  // a bounded number per call. True while any child remains.
  bool Reap();
  // Returns for how long the next Reap() may be put off without a signal, in nanoseconds; -1 for no
  // limit.
  long patience_ns() const {
    if (has_more_) return 0;
    return tracer_ == nullptr ? -1 : tracer_->patience_ns();
  }
  // Waits until no child remains.
  void ReapAll();

  bool command_ended() const { return ended_; }
  int command_status() const { return status_; }  // wait status of waitpid(2)
  std::uint64_t command_ended_ns() const { return ended_ns_; }

  // From here on, a child that dies of SIGKILL counts as killed by the launcher.
  void ExpectKills() { expects_kills_ = true; }
  bool killed() const { return killed_; }

 private:
  pid_t ReapOne(int flags);
  bool TakeSignal();

  pid_t command_;
  Tracer* tracer_;  // may be nullptr
  bool has_more_ = false;
  int signals_;
  bool ended_ = false;
  int status_ = 0;
  std::uint64_t ended_ns_ = 0;
  bool expects_kills_ = false;
  bool killed_ = false;
};

// Fills the usage fields with the resources used by all reaped children and their reaped
// descendants.
void AddUsage(Report* report);

// Kills and reaps the rest of the tree, so that its usage is counted. False if processes may
// remain: in a tree without a pid namespace, those that the launcher has no right to signal.
bool KillTree(bool is_init, Children* children);

}  // namespace native_runner
