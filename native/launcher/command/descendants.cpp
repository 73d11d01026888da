#include "launcher/command/descendants.h"

#include <cerrno>
#include <csignal>
#include <utility>

#include "launcher/kernel/calls.h"
#include "launcher/kernel/process.h"
#include "launcher/kernel/text.h"

namespace native_runner {

Descendants::Source Descendants::BestSource() {
  FixedText<64> path;
  path.Add("/proc/self/task/").AddNumber(kernel::ProcessId()).Add("/children");
  return kernel::Exists(path.c_str()) ? Source::kChildrenFiles : Source::kStatFiles;
}

std::size_t Descendants::Walk(int signal) {
  std::swap(now_, before_);
  now_->size = 0;
  signal_ = signal;
  new_ = 0;
  if (source_ == Source::kStatFiles) {
    while (ScanStatFiles()) {
    }
  } else {
    MeetChildrenOf(kernel::ProcessId());
    for (std::size_t i = 0; i < now_->size; ++i)
      MeetChildrenOf(now_->pids[i]);
  }
  return new_;
}

std::size_t Descendants::SignalAll(int signal) const {
  std::size_t sent = 0;
  for (std::size_t i = 0; i < now_->size; ++i) {
    if (SendChecked(now_->pids[i], signal)) ++sent;
  }
  return sent;
}

bool Descendants::Set::Contains(pid_t pid) const {
  for (std::size_t i = 0; i < size; ++i) {
    if (pids[i] == pid) return true;
  }
  return false;
}

void Descendants::Set::Add(pid_t pid) {
  if (size < kCapacity) pids[size++] = pid;
}

void Descendants::Meet(pid_t pid, bool is_child) {
  if (now_->Contains(pid)) return;
  now_->Add(pid);
  if (before_->Contains(pid)) return;
  ++new_;
  // An own child stays a zombie until it is reaped, so its pid can't have been reused.
  if (is_child) {
    kernel::Kill(pid, signal_);
  } else {
    SendChecked(pid, signal_);
  }
}

// A pidfd keeps referring to the same process, so checking after opening it is sound: if the pid
// was reused by then, the check or the signal fails.
bool Descendants::SendChecked(pid_t pid, int signal) const {
  const int pidfd = kernel::OpenPidfd(pid);
  if (pidfd < 0) {
    return pidfd == -ENOSYS && FindParent(pid) >= 0 && kernel::Kill(pid, signal) == 0;
  }
  const bool sent = FindParent(pid) >= 0 && kernel::SignalPidfd(pidfd, signal) == 0;
  kernel::Close(pidfd);
  return sent;
}

// Visits every thread, as children belong to the thread that created them.
void Descendants::MeetChildrenOf(pid_t pid) {
  FixedText<64> path;
  path.Add("/proc/").AddNumber(pid).Add("/task");
  ProcDirectory threads(path.c_str());
  for (int thread = 0; threads.NextNumber(&thread);) {
    path.Clear();
    path.Add("/proc/").AddNumber(pid).Add("/task/").AddNumber(thread).Add("/children");
    MeetChildrenIn(path.c_str(), pid == kernel::ProcessId());
  }
}

// Parses "12 345 6789 "; a number may be split between two reads.
void Descendants::MeetChildrenIn(const char* path, bool are_ours) {
  const int fd = kernel::Open(path, O_RDONLY);
  if (fd < 0) return;
  char bytes[1024] = {};
  pid_t pid = 0;
  for (long got = 0; (got = kernel::Read(fd, bytes, sizeof bytes)) > 0;) {
    for (long i = 0; i < got; ++i) {
      if (bytes[i] >= '0' && bytes[i] <= '9') {
        pid = pid * 10 + (bytes[i] - '0');
      } else if (pid != 0) {
        Meet(pid, are_ours);
        pid = 0;
      }
    }
  }
  kernel::Close(fd);
}

// Looks at every process once. True if it found a new descendant, so that another pass may find
// more.
bool Descendants::ScanStatFiles() {
  const std::size_t size = now_->size;
  ProcDirectory processes("/proc");
  for (int pid = 0; processes.NextNumber(&pid);) {
    if (now_->Contains(pid)) continue;
    const pid_t parent = FindParent(pid);
    if (parent >= 0) Meet(pid, parent == kernel::ProcessId());
  }
  return now_->size > size;
}

pid_t Descendants::FindParent(pid_t pid) const {
  ProcessState state;
  if (!ReadProcessState(pid, &state) || state.is_dead) return -1;
  return state.parent == kernel::ProcessId() || now_->Contains(state.parent) ? state.parent : -1;
}

}  // namespace native_runner
