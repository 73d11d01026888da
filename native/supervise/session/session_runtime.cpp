#include "supervise/session/session_runtime.h"

#include <utility>

namespace native_runner {

std::shared_ptr<OwnedSession> SessionRuntime::Make(Shared& shared,
                                                   OwnedSession::Listener listener) const {
  listener.on_gone = [ended = ended_,
                      on_gone = std::move(listener.on_gone)](const std::string& reason) {
    *ended = reason;
    on_gone(reason);
  };
  auto made = std::make_shared<Session>(shared, inner_, rule_, std::move(listener));
  session_ = made;
  return made;
}

RunRecord SessionRuntime::Unprepared(const ExecRequest& request) const {
  return inner_->Unprepared(request);
}

void SessionRuntime::Prepare(const ExecRequest& request, Shared& /*shared*/, Ready ready) const {
  const auto session = session_.lock();
  if (!session) return ready(Session::SessionEnded(*ended_));
  ready(session->Plan(request));
}

}  // namespace native_runner
