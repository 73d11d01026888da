#include "launcher/trace/refusals.h"

#include <sys/ioctl.h>

#include <cerrno>

#include "launcher/kernel/calls.h"
#include "launcher/seccomp/refused_call.h"
#include "launcher/trace/call_arguments.h"

namespace native_runner {
namespace {

short WhatIsUp(int listener) {
  pollfd entry{listener, POLLIN, 0};
  const timespec now{};
  kernel::Poll(&entry, 1, &now);
  return entry.revents;
}

}  // namespace

Refusals::~Refusals() {
  if (listener_ >= 0) kernel::Close(listener_);
}

void Refusals::Look() {
  constexpr int kMostAtOnce = 32;
  for (int round = 0; round < kMostAtOnce && listener_ >= 0; ++round) {
    const short events = WhatIsUp(listener_);
    if ((events & POLLIN) != 0) {
      seccomp_notif call{};
      if (kernel::DeviceControl(listener_, SECCOMP_IOCTL_NOTIF_RECV, &call) == 0)
        Answer(listener_, call);
    } else if ((events & (POLLHUP | POLLERR)) != 0) {
      kernel::Close(listener_);
      listener_ = -1;
    } else {
      return;
    }
  }
}

// The filter has compared the arguments.
bool Refusals::Answer(int listener, const seccomp_notif& call) {
  const RefusedCall* const refused = FindRefusedCall(call.data.nr);
  seccomp_notif_resp answer{};
  answer.id = call.id;
  answer.error = refused == nullptr ? -EPERM : -refused->error;
  if (refused == nullptr && listener != listener_) return false;
  if (refused != nullptr) {
    char program[kMostProgramName];  // NOLINT(cppcoreguidelines-pro-type-member-init): filled below
    Observations::Seen seen;
    seen.by_filter = true;
    seen.error = refused->error;
    seen.argument = call.data.args[refused->argument];
    seen.call = refused->name;
    seen.program = {program, ReadProgram(static_cast<pid_t>(call.pid), program, sizeof program)};
    observations_->Add(seen);
  }
  kernel::DeviceControl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
  return true;
}

}  // namespace native_runner
