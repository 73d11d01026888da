#include "launcher/tree/children.h"

#include <sys/signalfd.h>
#include <sys/wait.h>

#include <csignal>

#include "launcher/kernel/calls.h"

namespace native_runner {

// SIGCHLD is blocked, so what happened before this stays pending and shows.
Children::Children(pid_t command)
    : command_(command),
      signals_(kernel::OpenSignals(kernel::SignalBit(SIGCHLD), SFD_CLOEXEC | SFD_NONBLOCK)) {}

Children::~Children() {
  if (signals_ >= 0) kernel::Close(signals_);
}

pid_t Children::ReapOne(int flags) {
  int status = 0;
  const pid_t pid = kernel::Wait(-1, &status, flags);
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
  pid_t pid = 0;
  do {
    pid = ReapOne(WNOHANG);
  } while (pid > 0);
  return pid == 0;
}

void Children::ReapAll() {
  while (ReapOne(0) > 0) {
  }
}

}  // namespace native_runner
