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
  if (pid == command_ && !ended_) {
    ended_ = true;
    status_ = status;
    ended_ns_ = kernel::Now();
  }
  if (pid > 0 && expects_kills_) killed_ |= WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  return pid;
}

bool Children::Reap() {
  signalfd_siginfo happened{};
  if (signals_ >= 0) kernel::Read(signals_, &happened, sizeof happened);
  constexpr int kMostAtOnce = 256;  // who is traced may stop faster than we look
  pid_t pid = 1;
  for (int round = 0; round < kMostAtOnce && pid > 0; ++round)
    pid = ReapOne(WNOHANG);
  has_more_ = pid > 0;
  return pid >= 0;
}

void Children::ReapAll() {
  while (ReapOne(0) > 0) {
  }
}

}  // namespace native_runner
