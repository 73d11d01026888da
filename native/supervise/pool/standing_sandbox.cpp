#include "supervise/pool/standing_sandbox.h"

#include <unistd.h>

#include <utility>

#include "supervise/sandbox/spawned_sandbox.h"

namespace native_runner {

Result<std::unique_ptr<StandingSandbox>> StandingSandbox::Make(const Runtime& runtime,
                                                               const Shared& shared,
                                                               Preparation preparation,
                                                               Listener listener) {
  if (auto failed = runtime.Furnish(&preparation)) return *failed;
  preparation.spawn.inherited.push_back({shared.null_device.get(), STDIN_FILENO});
  auto sandbox = SpawnedSandbox::Spawn(std::move(preparation.spawn), preparation.own_pid_namespace);
  if (!sandbox) return sandbox.error();
  std::unique_ptr<StandingSandbox> made(new StandingSandbox(
      std::move(*sandbox), std::move(preparation.fingerprint), std::move(listener)));
  made->is_ending_ = !made->sandbox_->Watch(shared.loop, made.get(), true);
  return made;
}

void StandingSandbox::End() {
  is_ending_ = true;
  sandbox_->End();
}

std::unique_ptr<Sandbox> StandingSandbox::Release() {
  return std::move(sandbox_);
}

void StandingSandbox::OnReport(const Report& report) {
  if (is_ending_) return;
  is_ready_ = report.kind == ReportKind::kStanding;
  is_ending_ = !is_ready_;
  if (is_ready_) listener_.on_ready();
}

void StandingSandbox::OnGone() {
  is_ending_ = true;
  const auto on_gone = std::move(listener_.on_gone);
  on_gone();
}

}  // namespace native_runner
