#include "launcher/tree/children.h"

#include <sys/signalfd.h>
#include <sys/wait.h>

#include <csignal>

#include "launcher/kernel/calls.h"

namespace native_runner {

// SIGCHLD is blocked, so what happened before this stays pending and shows.
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

// Whoever has just been let go on most often stops again at once: that is not waited for by way of
// the descriptor, which would take longer.
bool Children::Reap() {
  constexpr int kMostAtOnce = 256;  // who is traced may stop faster than we look
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
      is_signalled = TakeSignal();  // what it was for is found now, at the latest
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

}  // namespace native_runner
