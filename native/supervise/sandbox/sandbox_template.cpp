#include "supervise/sandbox/sandbox_template.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>
#include <vector>

#include "supervise/os/process.h"
#include "supervise/sandbox/launcher_channel.h"

namespace native_runner {
namespace {

// A sandbox that a template makes: a launcher that is process 1 of its own pid namespace, and not
// our child. It is gone when the control socket has reported end of file and the launcher's pidfd
// shows its death, which comes only after the kernel has ended everything else in the namespace.
// The launcher runs no command before we have that pidfd (launcher/order/host_channel.h).
class ClonedSandbox final : public Sandbox {
 public:
  // The template has been asked to make it.
  ClonedSandbox(std::shared_ptr<SandboxTemplate> origin, Channels channels, SandboxParts parts);
  ~ClonedSandbox() override;

  bool Watch(uv_loop_t* loop, User* user, bool until_ready) override;
  // The template is busy meanwhile: the order should already wait when the clone starts.
  bool takes_order_first() const override { return true; }
  bool IsAlive() override;
  void End() override;
  SandboxNetwork* network() const override { return parts_.network.get(); }
  bool MemoryKilled() const override { return parts_.cgroup && parts_.cgroup->MemoryKilled(); }
  // 2 if no command was started and the template is at fault, or an outside process ended it.
  int most_tries() const override { return is_ready_ || ending_ || is_orders_fault_ ? 1 : 2; }

 private:
  bool AwaitsMade() const override { return parts_.network && !parts_.network->is_complete(); }
  void NoteMade(std::vector<Descriptor> made) override;
  void NoteReport(const Report& report) override;
  bool WatchChannel();
  void InsistAfter(std::uint64_t delay_ms);
  void Insist();
  void Settle();

  std::shared_ptr<SandboxTemplate> origin_;
  SandboxParts parts_;
  Timer insist_;
  EndWatch end_watch_;
  int silent_turns_ = 0;
  bool is_ready_ = false;
  bool is_orders_fault_ = false;  // refused because of the order's contents
  bool ending_ = false;
};

// Number of checks in which a template that has not begun the clone was seen to do nothing.
constexpr int kMostSilentTemplateTurns = 100;

}  // namespace

ClonedSandbox::ClonedSandbox(std::shared_ptr<SandboxTemplate> origin, Channels channels,
                             SandboxParts parts)
    : Sandbox(std::move(channels.control)), origin_(std::move(origin)), parts_(std::move(parts)) {
  own_init_ = true;
  out_ = std::move(channels.out.read);
  err_ = std::move(channels.err.read);
}

ClonedSandbox::~ClonedSandbox() {
  if (parts_.network) parts_.network->Close();
  if (const auto origin = std::move(origin_)) origin->OnCloneGone();
}

bool ClonedSandbox::Watch(uv_loop_t* loop, User* user, bool /*until_ready*/) {
  loop_ = loop;
  user_ = user;
  return channel_poll_.active() || WatchChannel();
}

bool ClonedSandbox::WatchChannel() {
  return channel_poll_.Start(loop_, control_.descriptor(), UV_READABLE, [this] {
    Receive();
    Settle();
  }) == 0;
}

void ClonedSandbox::NoteMade(std::vector<Descriptor> made) {
  if (ending_ || !parts_.network) return;
  const char* const why = TakeListeners(std::move(made), parts_.network.get(), loop_);
  if (why == nullptr) return;
  Report report;
  report.kind = ReportKind::kRefused;
  const std::string text = std::string(LayerName(Layer::kNetworkByDomain)) + ": " + why;
  text.copy(report.text, sizeof report.text - 1);
  // Only send the kill: seeing the end too may destroy this sandbox, and we are inside Receive().
  ending_ = true;
  control_.SendKill();
  InsistAfter(kInsistAfterMs);
  if (user_ != nullptr) user_->OnReport(report);
}

void ClonedSandbox::NoteReport(const Report& report) {
  if (report.kind == ReportKind::kTerminal) return;
  has_launcher_ = true;
  if (report.kind == ReportKind::kReady) is_ready_ = true;
  if (!IsLast(report.kind)) return;
  has_ended_ = true;
  is_orders_fault_ = report.no_directory != 0;
  if (report.kind == ReportKind::kRefused && !is_orders_fault_)
    origin_->OnCloneRefused(report.text);
  // Only its end is still to come. With a pidfd we see that; the socket is read again then.
  if (launcher_.valid()) {
    channel_poll_.Stop();
    WatchRest([this] { Settle(); });
  }
  if (!insist_.active()) InsistAfter(kInsistAfterMs);
}

bool ClonedSandbox::IsAlive() {
  Receive();
  return !channel_closed_ && !has_ended_ && !ending_ && (!launcher_.valid() || !LauncherIsGone());
}

void ClonedSandbox::End() {
  Receive();
  if (!ending_ && !has_ended_) {
    ending_ = true;
    control_.SendKill();
    InsistAfter(kInsistAfterMs);
  }
  Settle();
}

void ClonedSandbox::InsistAfter(std::uint64_t delay_ms) {
  insist_.Start(loop_, delay_ms, kInsistEveryMs, [this] { Insist(); });
}

// Its launcher ends its tree by itself on request. This handles a launcher that does not answer.
void ClonedSandbox::Insist() {
  Receive();
  if (launcher_.valid()) {
    const bool is_dying = end_watch_.Look(launcher_.get()) == EndWatch::Seen::kDying;
    if (!LauncherIsGone()) SignalPidfd(launcher_.get(), is_dying ? SIGCONT : SIGKILL);
  } else if (!KillHolders()) {
    // Our request, with the clone's end of our socket, may still wait in the template's socket.
    if (origin_->SeemsSilent()) ++silent_turns_;
    if (silent_turns_ > kMostSilentTemplateTurns) origin_->GiveUp();
  }
  Settle();
}

void ClonedSandbox::Settle() {
  if (user_ == nullptr) return;
  Receive();
  if (!channel_closed_) {
    if (LauncherIsGone() && launcher_.valid() && !channel_poll_.active()) WatchChannel();
    return;
  }
  if (!AllAreGone()) return WatchRest([this] { Settle(); });
  insist_.Stop();
  rest_poll_.Stop();
  channel_poll_.Stop();
  parts_.cgroup.reset();
  parts_.holds.reset();
  // A user that keeps this object must not keep the template.
  if (const auto origin = std::exchange(origin_, nullptr)) origin->OnCloneGone();
  std::exchange(user_, nullptr)->OnGone();
}

bool SandboxTemplate::Start(uv_loop_t* loop, int null_device, std::span<const std::byte> order) {
  self_ = shared_from_this();
  setup_stderr_.emplace(KeepRule(), Capture::Chunk());
  return sandbox_->Watch(loop, this, true) &&
         setup_stderr_->Start(loop, sandbox_->TakeStderr(), null_device) &&
         sandbox_->SendOrder(order) != LauncherChannel::Sent::kFailed;
}

Result<std::unique_ptr<Sandbox>> SandboxTemplate::Clone(const CloneRequest& request, int input,
                                                        SandboxParts* parts) {
  auto channels = Channels::Open();
  if (!channels) return channels.error();
  Descriptor cgroup;
  if (parts->cgroup) {
    auto directory = parts->cgroup->OpenDirectory();
    if (!directory) return directory.error();
    cgroup = std::move(*directory);
  }
  const std::array<int, kCommandDescriptors> descriptors = {
      channels->peer.get(), input, channels->out.write.get(), channels->err.write.get()};
  const int group = cgroup.valid() ? cgroup.get() : -1;
  if (sandbox_->SendClone(request, descriptors, group) != LauncherChannel::Sent::kSent)
    return SystemError("sendmsg to the template", errno);
  ++clones_;
  ++served_;
  return Result<std::unique_ptr<Sandbox>>(
      std::make_unique<ClonedSandbox>(shared_from_this(), std::move(*channels), std::move(*parts)));
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
  // The template ends by itself now. Not ended here: we are inside its Receive(), and may hold the
  // last reference.
  if (!is_retired_) reason_ = report.kind == ReportKind::kRefused ? report.text : "it has ended";
  is_retired_ = true;
}

// Returns bwrap's own words, if it wrote any.
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
