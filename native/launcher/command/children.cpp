#include "launcher/command/children.h"

#include <sys/signalfd.h>
#include <sys/wait.h>

#include <csignal>
#include <ctime>

#include "launcher/command/descendants.h"
#include "launcher/kernel/calls.h"

namespace native_runner {

// Requires SIGCHLD to be blocked: signals that arrived earlier stay pending and become readable.
Children::Children(pid_t command, Tracer* tracer)
    : command_(command),
      tracer_(tracer),
      signals_(kernel::OpenSignals(kernel::SignalBit(SIGCHLD), SFD_CLOEXEC | SFD_NONBLOCK)) {}

Children::~Children() {
  if (signals_ >= 0) kernel::Close(signals_);
}

pid_t Children::ReapOne(int flags) {
  int status = 0;
  const pid_t pid = kernel::Wait(-1, &status, flags | (tracer_ != nullptr ? __WALL : 0));
  if (pid > 0 && WIFSTOPPED(status)) {
    if (tracer_ != nullptr) tracer_->OnStop(pid, status);
    return pid;
  }
  if (pid > 0 && tracer_ != nullptr) tracer_->OnEnd(pid);
  if (pid == command_ && !ended_) {
    ended_ = true;
    status_ = status;
    ended_ns_ = kernel::Now();
  }
  if (pid > 0 && expects_kills_) killed_ |= WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  return pid;
}

// A resumed process usually stops again at once. Yields a few times instead of polling the
// descriptor, which takes longer.
bool Children::Reap() {
  constexpr int kMostAtOnce = 256;  // traced processes may stop faster than this loop looks
  constexpr int kMostYields = 4;
  bool is_signalled = TakeSignal();
  int yields = 0;
  int found = 0;
  pid_t pid = 0;
  while (found < kMostAtOnce) {
    pid = ReapOne(WNOHANG);
    if (pid < 0) break;
    if (pid > 0) {
      ++found;
      yields = 0;
    } else if (tracer_ == nullptr || found == 0 || yields > kMostYields) {
      break;
    } else if (++yields <= kMostYields) {
      kernel::Call(SYS_sched_yield);
    } else {
      is_signalled = TakeSignal();  // the next round finds its cause
    }
  }
  has_more_ = pid > 0;
  if (tracer_ != nullptr && found == 0 && !is_signalled) tracer_->OnPause();
  return pid >= 0;
}

bool Children::TakeSignal() {
  signalfd_siginfo happened{};
  return signals_ >= 0 && kernel::Read(signals_, &happened, sizeof happened) > 0;
}

void Children::ReapAll() {
  while (ReapOne(0) > 0) {
  }
}

namespace {

std::uint64_t Microseconds(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000 +
         static_cast<std::uint64_t>(time.tv_usec);
}

}  // namespace

void AddUsage(Report* report) {
  rusage usage{};
  kernel::GetChildrenUsage(&usage);
  report->user_cpu_us = Microseconds(usage.ru_utime);
  report->system_cpu_us = Microseconds(usage.ru_stime);
  report->peak_memory_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;  // in KiB
}

namespace {

constexpr int kMaxStopRounds = 256;
constexpr int kMaxIdleRounds = 5;
constexpr long kRoundNanoseconds = 10'000'000;

// Stops every process before the first is killed. A stopped process can't fork, so a fork bomb runs
// dry once a walk finds no new process. Reaping between walks keeps dead processes out of the next
// walk.
void StopAll(Descendants* tree, Children* children) {
  for (int round = 0; round < kMaxStopRounds && tree->Walk(SIGSTOP) != 0; ++round) {
    children->Reap();
  }
}

void WaitForChild(const Children& children) {
  const timespec round{0, kRoundNanoseconds};
  pollfd child{children.signal_descriptor(), POLLIN, 0};
  kernel::Poll(&child, 1, &round);
}

bool KillDescendants(Children* children) {
  const auto source = Descendants::BestSource();
  for (int idle = 0; idle < kMaxIdleRounds;) {
    Descendants tree(source);
    StopAll(&tree, children);
    idle = tree.SignalAll(SIGKILL) == 0 ? idle + 1 : 0;
    WaitForChild(*children);
    if (!children->Reap()) return true;
  }
  return false;
}

}  // namespace

bool KillTree(bool is_init, Children* children) {
  if (!children->Reap()) return true;
  children->ExpectKills();
  if (!is_init) return KillDescendants(children);
  kernel::Kill(-1, SIGKILL);  // one call under the kernel's lock: no fork escapes it
  children->ReapAll();
  return true;
}

}  // namespace native_runner
