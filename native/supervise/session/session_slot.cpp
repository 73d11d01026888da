#include "supervise/session/session_slot.h"

#include <cerrno>
#include <csignal>
#include <utility>

namespace native_runner {
namespace {

constexpr std::uint64_t kInsistAfterMs = 200;
constexpr std::uint64_t kInsistEveryMs = 50;
constexpr int kPatience = 10;  // turns in which a launcher may end its tree by itself

}  // namespace

SessionSlot::SessionSlot(Control control, Descriptor out, Descriptor err)
    : Sandbox(std::move(control)) {
  out_ = std::move(out);
  err_ = std::move(err);
}

SessionSlot::~SessionSlot() {
  if (owner_) owner_->OnSlotLeft(this);
}

void SessionSlot::Enter(std::shared_ptr<Owner> owner, ShellFile shell, bool may_be_stopped) {
  owner_ = std::move(owner);
  shell_ = std::move(shell);
  if (may_be_stopped && launcher_.valid()) SignalPidfd(launcher_.get(), SIGCONT);
}

bool SessionSlot::Watch(uv_loop_t* loop, User* user, bool /*until_ready*/) {
  loop_ = loop;
  user_ = user;
  return control_poll_.Start(loop, control_.descriptor(), UV_READABLE, [this] {
    Receive();
    Settle();
  }) == 0;
}

Control::Sent SessionSlot::SendOrder(std::span<const std::byte> order) {
  auto sent = shell_.file.valid() ? control_.SendState(shell_.file.get()) : Control::Sent::kSent;
  if (sent == Control::Sent::kSent) sent = control_.SendOrder(order);
  owner_->OnOrderSent();
  return sent == Control::Sent::kSent ? sent : Control::Sent::kFailed;
}

// Where the command's launcher has not said that none is left, the session was ended.
bool SessionSlot::end_is_proof() const {
  return owner_->end_is_proof();
}

void SessionSlot::NoteReport(const Report& report) {
  has_launcher_ = true;
  if (report.kind == ReportKind::kReady) may_run_ = true;
  if (!IsLast(report.kind)) return;
  has_ended_ = true;
  const bool is_missing = report.error == ENOENT || report.error == ENOTDIR;
  if (report.kind == ReportKind::kRefused && is_missing && shell_.is_in_its_directory) {
    owner_->OnDirectoryGone();  // else no command could be run any more
  }
  is_proved_ = report.kind != ReportKind::kExited || report.error == 0;
}

bool SessionSlot::IsAlive() {
  Receive();
  return !control_closed_ && !has_ended_ && !is_ending_;
}

void SessionSlot::End() {
  Receive();
  if (!is_ending_ && !has_ended_) {
    control_.SendKill();
    insist_.Start(loop_, kInsistAfterMs, kInsistEveryMs, [this] { Insist(); });
  }
  is_ending_ = true;
  Settle();
}

// For when its launcher does not answer: the command may have stopped it, or killed it.
void SessionSlot::Insist() {
  Receive();
  const bool is_patient = ++insisted_ <= kPatience;
  if (!is_patient && !is_orphan_) return owner_->OnUnproved();  // possibly our last moment
  if (launcher_.valid()) SignalPidfd(launcher_.get(), is_patient ? SIGCONT : SIGKILL);
  Settle();
}

// Its last word is the proof: what it still does is to exit.
void SessionSlot::Settle() {
  if (is_orphan_) return SettleAlone();
  if (is_proved_) return BeGone();
  if (!control_closed_) return;
  if (!may_run_) return BeGone();
  owner_->OnUnproved();
}

void SessionSlot::SettleAlone() {
  if (!is_proved_ && !control_closed_) return;
  if (LauncherIsGone()) return BeGone();
  WatchLauncher([this] { Settle(); });
}

// One that outlives the session's launcher ends its tree itself, as where there is no session.
void SessionSlot::OnSessionGone(bool is_proof) {
  Receive();
  if (is_proof) return BeGone();
  is_orphan_ = true;
  End();
}

void SessionSlot::BeGone() {
  if (user_ == nullptr) return;
  insist_.Stop();
  control_poll_.Stop();
  launcher_poll_.Stop();
  if (is_proved_ && shell_.file.valid()) owner_->OnShellLeft(shell_);
  std::exchange(user_, nullptr)->OnGone();
}

}  // namespace native_runner
