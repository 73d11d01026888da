#include "supervise/pool/prewarmed_sandbox.h"

#include <unistd.h>

#include <utility>

#include "supervise/sandbox/spawned_sandbox.h"

namespace native_runner {

Result<std::unique_ptr<PrewarmedSandbox>> PrewarmedSandbox::Make(const Runtime& runtime,
                                                                 const Shared& shared,
                                                                 Preparation preparation,
                                                                 Listener listener) {
  if (auto failed = runtime.AttachOptions(&preparation)) return *failed;
  preparation.spawn.inherited.push_back({shared.null_device.get(), STDIN_FILENO});
  auto sandbox = SpawnedSandbox::Spawn(std::move(preparation.spawn), preparation.own_pid_namespace);
  if (!sandbox) return sandbox.error();
  std::unique_ptr<PrewarmedSandbox> made(new PrewarmedSandbox(
      std::move(*sandbox), std::move(preparation.fingerprint), std::move(listener)));
  made->is_ending_ = !made->sandbox_->Watch(shared.loop, made.get(), true);
  return made;
}

void PrewarmedSandbox::End() {
  is_ending_ = true;
  sandbox_->End();
}

std::unique_ptr<Sandbox> PrewarmedSandbox::Release() {
  return std::move(sandbox_);
}

void PrewarmedSandbox::OnReport(const Report& report) {
  if (is_ending_) return;
  is_ready_ = report.kind == ReportKind::kAwaitingOrder;
  is_ending_ = !is_ready_;
  if (is_ready_) listener_.on_ready();
}

void PrewarmedSandbox::OnGone() {
  is_ending_ = true;
  const auto on_gone = std::move(listener_.on_gone);
  on_gone();
}

}  // namespace native_runner
