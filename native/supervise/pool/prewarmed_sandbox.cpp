#include "supervise/pool/prewarmed_sandbox.h"

#include <utility>

#include "supervise/preparation/spawn_source.h"

namespace native_runner {

Result<std::unique_ptr<PrewarmedSandbox>> PrewarmedSandbox::Make(const Runtime& runtime,
                                                                 Shared& shared, SpawnPlan plan,
                                                                 Listener listener) {
  Fingerprint fingerprint = plan.fingerprint;  // by the plan's own a template is found
  Descriptor no_input;
  auto sandbox = SpawnSource(shared, runtime, {}, std::move(plan)).Acquire(&no_input);
  if (!sandbox) return sandbox.error();
  std::unique_ptr<PrewarmedSandbox> made(
      new PrewarmedSandbox(std::move(*sandbox), std::move(fingerprint), std::move(listener)));
  made->is_ending_ = !made->sandbox_->Watch(shared.loop, made.get(), true);
  return made;
}

void PrewarmedSandbox::End() {
  is_ending_ = true;
  sandbox_->End();
}

Result<std::unique_ptr<Sandbox>> PrewarmedSandbox::Acquire(Descriptor* /*input*/) {
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
