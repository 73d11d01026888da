#include "supervise/session_runtime.h"

#include <utility>

namespace native_runner {

std::shared_ptr<Session> SessionRuntime::Make(Shared& shared, Session::Listener listener) const {
  auto made = std::make_shared<Session>(shared, inner_, rule_, std::move(listener));
  session_ = made;
  return made;
}

RunRecord SessionRuntime::Unprepared(const ExecRequest& request) const {
  return inner_->Unprepared(request);
}

void SessionRuntime::Prepare(const ExecRequest& request, Shared& /*shared*/, Ready ready) const {
  const auto session = session_.lock();
  if (!session) return ready(Error{ErrorCode::kClosed, "the session has ended", ""});
  ready(session->Plan(request));
}

}  // namespace native_runner
