#pragma once

#include <sys/types.h>

#include <cstdint>

#include "launcher/trace/tracer.h"
#include "protocol/report.h"

namespace native_runner {

// The launcher's children: the command, and every orphan of its tree that the kernel hands to us.
class Children {
 public:
  explicit Children(pid_t command, Tracer* tracer = nullptr);
  ~Children();
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  // Readable when something happened to a child since the last Reap(); -1 if there is none.
  int signal_descriptor() const { return signals_; }

  // Collects those that have ended, and lets those go on that have stopped for the tracer, without
  // waiting; a bounded number at once. True while any child is left.
  bool Reap();
  // How long the next Reap() may be put off for want of a signal; -1: for ever.
  long patience_ns() const {
    if (has_more_) return 0;
    return tracer_ == nullptr ? -1 : tracer_->patience_ns();
  }
  // Waits until none is left.
  void ReapAll();

  bool command_ended() const { return ended_; }
  int command_status() const { return status_; }  // as waitpid(2) gives it
  std::uint64_t command_ended_ns() const { return ended_ns_; }

  // From here on, who dies of SIGKILL was killed by us.
  void ExpectKills() { expects_kills_ = true; }
  bool killed() const { return killed_; }

 private:
  pid_t ReapOne(int flags);
  bool TakeSignal();

  pid_t command_;
  Tracer* tracer_;  // or none
  bool has_more_ = false;
  int signals_;
  bool ended_ = false;
  int status_ = 0;
  std::uint64_t ended_ns_ = 0;
  bool expects_kills_ = false;
  bool killed_ = false;
};

// Fills the usage fields with what all reaped children and their reaped descendants have used.
void AddUsage(Report* report);

// Ends whatever is left of the tree and reaps it, so that its usage is counted. False when
// something may be left: processes of a tree without a pid namespace that we have no right to
// signal.
bool KillTree(bool is_init, Children* children);

}  // namespace native_runner
