#include "addon/environment/pending_port_waits.h"

#include "addon/values/value_builder.h"

namespace native_runner {
namespace {

// As types/addon.d.ts has them.
const char* PortStateName(PortState state) {
  switch (state) {
    case PortState::kSilent:
      break;  // no end of a wait
    case PortState::kListening:
      return "listening";
    case PortState::kTimedOut:
      return "timed-out";
    case PortState::kStopped:
      return "stopped";
    case PortState::kGone:
      return "gone";
    case PortState::kNoSockets:
      return "no-sockets";
    case PortState::kUnreadable:
      return "unreadable";
  }
  return "";
}

}  // namespace

std::uint64_t PendingPortWaits::Add(napi_deferred deferred) {
  waits_.emplace(++last_wait_, deferred);
  return last_wait_;
}

void PendingPortWaits::Deliver(const news::PortAnswer& answer) {
  const auto found = waits_.find(answer.wait);
  if (found == waits_.end()) return;
  const Napi::HandleScope handles(env_);
  napi_deferred deferred = found->second;
  waits_.erase(found);
  ValueBuilder builder(env_);
  napi_value state = builder.String(PortStateName(answer.state));
  if (builder.ok()) napi_resolve_deferred(env_, deferred, state);
}

}  // namespace native_runner
