#pragma once

#include <functional>
#include <memory>

#include "supervise/host/fingerprint.h"
#include "supervise/preparation/runtime.h"
#include "supervise/sandbox/sandbox_source.h"

namespace native_runner {

// A sandbox that waits for its one order. Owned by its pool, then by the run that takes it;
// supervisor thread only.
class PrewarmedSandbox final : public SandboxSource, private Sandbox::User {
 public:
  struct Listener {
    std::function<void()> on_ready;  // its launcher waits; not called for one that is not watched
    std::function<void()> on_gone;   // its end is proved: to be destroyed, possibly from in here
  };

  // Spawns what `plan` says. kSetup when the host refuses.
  static Result<std::unique_ptr<PrewarmedSandbox>> Make(const Runtime& runtime, Shared& shared,
                                                        SpawnPlan plan, Listener listener);

  const Fingerprint& fingerprint() const { return fingerprint_; }
  bool is_ready() const { return is_ready_; }
  bool is_ending() const { return is_ending_; }
  bool IsAlive() { return !is_ending_ && sandbox_->IsAlive(); }

  // Ends it without a command; on_gone follows, possibly from in here.
  void End();

  // What is left here is empty, and will not call back.
  Result<std::unique_ptr<Sandbox>> Acquire(Descriptor* input) override;
  SandboxStart start() const override { return SandboxStart::kPrewarmed; }

 private:
  PrewarmedSandbox(std::unique_ptr<Sandbox> sandbox, Fingerprint fingerprint, Listener listener)
      : sandbox_(std::move(sandbox)),
        fingerprint_(std::move(fingerprint)),
        listener_(std::move(listener)) {}

  void OnReport(const Report& report) override;
  void OnGone() override;

  std::unique_ptr<Sandbox> sandbox_;
  Fingerprint fingerprint_;
  Listener listener_;
  bool is_ready_ = false;
  bool is_ending_ = false;
};

}  // namespace native_runner
