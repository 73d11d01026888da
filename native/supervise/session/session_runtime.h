#pragma once

#include <memory>
#include <string>
#include <utility>

#include "supervise/session/session.h"

namespace native_runner {

// Commands in one session of another runtime's. The session is made and used on the supervisor
// thread; this may be let go on any.
class SessionRuntime final : public Runtime, public SessionOpener {
 public:
  SessionRuntime(std::shared_ptr<const Runtime> inner, SessionRule rule)
      : inner_(std::move(inner)), rule_(rule) {}

  std::shared_ptr<OwnedSession> Make(Shared& shared,
                                     OwnedSession::Listener listener) const override;

  RunRecord Unprepared(const ExecRequest& request) const override;
  void Prepare(const ExecRequest& request, Shared& shared, Ready ready) const override;

 private:
  std::shared_ptr<const Runtime> inner_;
  SessionRule rule_;
  mutable std::weak_ptr<Session> session_;  // supervisor thread; the supervisor owns it
  std::shared_ptr<std::string> ended_ = std::make_shared<std::string>();  // why; as above
};

}  // namespace native_runner
