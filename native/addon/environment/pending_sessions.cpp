#include "addon/environment/pending_sessions.h"

#include <algorithm>

#include "addon/values/js_error.h"
#include "addon/values/value_builder.h"

namespace native_runner {

void PendingSessions::Add(std::uint64_t session, SessionPromises promises) {
  sessions_.emplace(session, Session{promises});
}

bool PendingSessions::BeginClose(std::uint64_t session) {
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) return false;
  found->second.keeps_alive = true;
  return true;
}

bool PendingSessions::keep_alive() const {
  return std::any_of(sessions_.begin(), sessions_.end(),
                     [](const auto& session) { return session.second.keeps_alive; });
}

void PendingSessions::Deliver(const news::SessionOpen& open) {
  const auto found = sessions_.find(open.session);
  if (found == sessions_.end()) return;
  const Napi::HandleScope handles(env_);
  const SessionPromises promises = found->second.promises;
  found->second.keeps_alive = false;
  ValueBuilder builder(env_);
  if (!open.layers) {
    sessions_.erase(found);
    napi_reject_deferred(env_, promises.opened, MakeJsError(env_, open.layers.error()));
    // Nobody waits for the end of what never was; a promise that is never settled would be a leak.
    napi_resolve_deferred(env_, promises.ended, builder.Undefined());
    return;
  }
  napi_value layers = builder.Strings(open.layers.value().Names());
  if (builder.ok()) napi_resolve_deferred(env_, promises.opened, layers);
}

void PendingSessions::Deliver(const news::SessionGone& gone) {
  const auto found = sessions_.find(gone.session);
  if (found == sessions_.end()) return;
  const Napi::HandleScope handles(env_);
  napi_deferred ended = found->second.promises.ended;
  sessions_.erase(found);
  ValueBuilder builder(env_);
  napi_value reason = builder.String(gone.reason);
  if (builder.ok()) napi_resolve_deferred(env_, ended, reason);
}

}  // namespace native_runner
