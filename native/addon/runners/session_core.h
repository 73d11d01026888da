#pragma once

#include <napi.h>

#include <cstdint>
#include <memory>

#include "addon/runners/runner_core.h"
#include "supervise/session/session_runtime.h"

namespace native_runner {

// A runner whose commands run in one session, which is still to be opened. Ends it with itself.
// JavaScript thread.
class SessionCore final : public RunnerCore {
 public:
  // `options.runtime` is replaced by the session's.
  SessionCore(EnvironmentState* state, std::shared_ptr<const SessionRuntime> runtime,
              Options options);
  ~SessionCore() override;

  // Once: { opened, ended }, two promises.
  Napi::Value Open(const Napi::CallbackInfo& info);
  Napi::Value Close(const Napi::CallbackInfo& info) override;

 protected:
  std::uint64_t session() const override { return session_; }

 private:
  std::shared_ptr<EnvironmentState*> back_reference_;
  std::shared_ptr<const SessionRuntime> runtime_;
  std::uint64_t session_;
};

}  // namespace native_runner
