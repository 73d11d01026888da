#include "supervise/clone/cloned_sandbox.h"

#include <csignal>
#include <string>
#include <utility>

#include "supervise/os/child.h"
#include "supervise/sandbox/listeners.h"

namespace native_runner {
namespace {

constexpr std::uint64_t kInsistAfterMs = 200;
constexpr std::uint64_t kInsistEveryMs = 50;
// Turns in which a template that has not begun with the clone was seen to do nothing.
constexpr int kMostSilentTurns = 100;

}  // namespace

ClonedSandbox::ClonedSandbox(std::shared_ptr<SandboxTemplate> origin, Channels channels,
                             const CloneAsk& ask)
    : Sandbox(std::move(channels.control)),
      origin_(std::move(origin)),
      cgroup_(std::move(*ask.cgroup)),
      network_(std::move(*ask.network)),
      holds_(std::move(*ask.holds)) {
  own_init_ = true;
  out_ = std::move(channels.out.read);
  err_ = std::move(channels.err.read);
}

ClonedSandbox::~ClonedSandbox() {
  if (network_) network_->Close();
  if (const auto origin = std::move(origin_)) origin->OnCloneGone();
}

bool ClonedSandbox::Watch(uv_loop_t* loop, User* user, bool /*until_ready*/) {
  loop_ = loop;
  user_ = user;
  return control_poll_.active() || WatchControl();
}

bool ClonedSandbox::WatchControl() {
  return control_poll_.Start(loop_, control_.descriptor(), UV_READABLE, [this] {
    Receive();
    Settle();
  }) == 0;
}

void ClonedSandbox::NoteMade(std::vector<Descriptor> made) {
  if (ending_ || !network_) return;
  const char* const why = TakeListeners(std::move(made), network_.get(), loop_);
  if (why == nullptr) return;
  Report report;
  report.kind = ReportKind::kRefused;
  const std::string text = std::string(LayerName(Layer::kNetworkByDomain)) + ": " + why;
  text.copy(report.text, sizeof report.text - 1);
  // No more than told to end: that its end is seen too may be its last moment, and this is told in
  // the midst of Receive().
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
  // What is still to come is its end: where we can see that, the socket is looked at then.
  if (launcher_.valid()) {
    control_poll_.Stop();
    WatchRest([this] { Settle(); });
  }
  if (!insist_.active()) InsistAfter(kInsistAfterMs);
}

bool ClonedSandbox::IsAlive() {
  Receive();
  return !control_closed_ && !has_ended_ && !ending_ && (!launcher_.valid() || !LauncherIsGone());
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

// Its launcher ends its tree by itself when it is told to. This is for when it does not answer.
void ClonedSandbox::Insist() {
  Receive();
  if (launcher_.valid()) {
    const bool is_dying = end_watch_.Look(launcher_.get()) == EndWatch::Seen::kDying;
    if (!LauncherIsGone()) SignalPidfd(launcher_.get(), is_dying ? SIGCONT : SIGKILL);
  } else if (!KillHolders()) {
    // Our request may wait in the template's socket, and with it the clone's end of ours.
    if (origin_->SeemsSilent()) ++silent_turns_;
    if (silent_turns_ > kMostSilentTurns) origin_->GiveUp();
  }
  Settle();
}

void ClonedSandbox::Settle() {
  if (user_ == nullptr) return;
  Receive();
  if (!control_closed_) {
    if (LauncherIsGone() && launcher_.valid() && !control_poll_.active()) WatchControl();
    return;
  }
  if (!AllAreGone()) return WatchRest([this] { Settle(); });
  insist_.Stop();
  rest_poll_.Stop();
  control_poll_.Stop();
  cgroup_.reset();
  holds_.reset();
  // Whoever keeps what is left of us keeps no template.
  if (const auto origin = std::exchange(origin_, nullptr)) origin->OnCloneGone();
  std::exchange(user_, nullptr)->OnGone();
}

}  // namespace native_runner
