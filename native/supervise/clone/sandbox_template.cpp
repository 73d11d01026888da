#include "supervise/clone/sandbox_template.h"

#include <array>
#include <cerrno>
#include <utility>

#include "supervise/clone/cloned_sandbox.h"
#include "supervise/sandbox/channels.h"

namespace native_runner {

bool SandboxTemplate::Start(uv_loop_t* loop, int null_device, std::span<const std::byte> order) {
  self_ = shared_from_this();
  setup_stderr_.emplace(KeepRule(), Capture::Chunk());
  return sandbox_->Watch(loop, this, true) &&
         setup_stderr_->Start(loop, sandbox_->TakeStderr(), null_device) &&
         sandbox_->SendOrder(order) != Control::Sent::kFailed;
}

Result<std::unique_ptr<Sandbox>> SandboxTemplate::Clone(const CloneAsk& ask) {
  auto channels = Channels::Open();
  if (!channels) return channels.error();
  Descriptor cgroup;
  if (*ask.cgroup) {
    auto directory = (*ask.cgroup)->OpenDirectory();
    if (!directory) return directory.error();
    cgroup = std::move(*directory);
  }
  const std::array<int, kCommandDescriptors> descriptors = {
      channels->peer.get(), ask.input, channels->out.write.get(), channels->err.write.get()};
  const int group = cgroup.valid() ? cgroup.get() : -1;
  if (sandbox_->SendClone(ask.request, descriptors, group) != Control::Sent::kSent)
    return SystemError("sendmsg to the template", errno);
  ++clones_;
  ++served_;
  return Result<std::unique_ptr<Sandbox>>(
      std::make_unique<ClonedSandbox>(shared_from_this(), std::move(*channels), ask));
}

void SandboxTemplate::Retire(const std::string& reason) {
  if (is_retired_) return;
  is_retired_ = true;
  reason_ = reason;
  EndIfUnused();
}

void SandboxTemplate::EndIfUnused() {
  const auto self = shared_from_this();
  if (is_retired_ && clones_ == 0 && !is_gone_) sandbox_->End();
}

void SandboxTemplate::OnCloneGone() {
  --clones_;
  EndIfUnused();
}

void SandboxTemplate::GiveUp() {
  const auto self = shared_from_this();
  Retire("it did not answer");
  if (!is_gone_) sandbox_->End();
}

bool SandboxTemplate::SeemsSilent() {
  return !is_gone_ && sandbox_->WakeIfSilent(&end_watch_);
}

void SandboxTemplate::OnReport(const Report& report) {
  if (report.kind == ReportKind::kAwaitingOrder) return;
  if (report.kind == ReportKind::kReady && !is_retired_) {
    is_ready_ = true;
    sandbox_->TakeStdout();
    setup_stderr_.reset();
    return listener_.on_ready();
  }
  // It goes by itself now. Not ended here: this is told in the midst of its Receive(), and ours may
  // be the last reference.
  if (!is_retired_) reason_ = report.kind == ReportKind::kRefused ? report.text : "it has ended";
  is_retired_ = true;
}

// bwrap's own words, where it has said something.
std::string SandboxTemplate::SetupErrorText() {
  setup_stderr_->Finish();
  std::string text(setup_stderr_->opening());
  while (!text.empty() && (text.back() == '\n' || text.back() == ' '))
    text.pop_back();
  return text.empty() ? "its set-up has failed, without a word" : text;
}

void SandboxTemplate::OnGone() {
  is_gone_ = true;
  is_retired_ = true;
  if (reason_.empty()) reason_ = is_ready_ ? "it has died" : SetupErrorText();
  const auto self = std::move(self_);
  const auto on_gone = std::move(listener_.on_gone);
  on_gone();
}

}  // namespace native_runner
