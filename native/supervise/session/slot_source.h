#pragma once

#include <memory>

#include "supervise/session/session.h"

namespace native_runner {

// A slot of a session for a command that was planned, with what its plan says of a shell.
class SlotSource final : public SandboxSource {
 public:
  SlotSource(std::shared_ptr<Session> session, ShellPart shell)
      : session_(std::move(session)), shell_(std::move(shell)) {}

  Result<std::unique_ptr<Sandbox>> Acquire(Descriptor* /*input*/) override {
    return session_->Enter(std::move(shell_));
  }
  SandboxStart start() const override { return SandboxStart::kSession; }

 private:
  std::shared_ptr<Session> session_;
  ShellPart shell_;
};

}  // namespace native_runner
