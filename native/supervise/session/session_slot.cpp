#include "supervise/session/session_slot.h"

#include <csignal>
#include <utility>

namespace native_runner {
namespace {

constexpr std::uint64_t kInsistAfterMs = 200;
constexpr std::uint64_t kInsistEveryMs = 50;
// Turns in which a launcher that was told to end its tree may do nothing: it is woken in each.
constexpr int kMostSilentTurns = 10;

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
  has_exited_ = report.kind == ReportKind::kExited && !is_ending_;
  is_directory_refused_ = report.no_directory != 0 && !shell_.part.directory.empty();
  if (is_directory_refused_) owner_->OnDirectoryRefused(shell_);
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
  const bool is_silent =
      !launcher_.valid() || end_watch_.Look(launcher_.get()) == EndWatch::Seen::kSilent;
  if (is_silent) ++silent_turns_;
  const bool is_patient = silent_turns_ <= kMostSilentTurns;
  if (!is_patient && NeverStarts()) return BeGone();
  if (!is_patient && !is_orphan_) return owner_->OnUnproved();  // possibly our last moment
  if (launcher_.valid()) SignalPidfd(launcher_.get(), is_patient ? SIGCONT : SIGKILL);
  Settle();
}

// A launcher that can't say that it is ready starts no command: where it has not said so, there is
// nothing whose end would have to be proved, and the session's other commands go on.
bool SessionSlot::NeverStarts() {
  if (is_orphan_ || may_run_ || !control_.RefuseReports()) return false;
  Receive();
  return !may_run_;
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
  WatchRest([this] { Settle(); });
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
  rest_poll_.Stop();
  HandOnShell();
  std::exchange(user_, nullptr)->OnGone();
}

// A shell that was told to end may have written its state before that took effect; its caller hears
// of a deadline or an abort, and believes that things are as they were.
void SessionSlot::HandOnShell() {
  if (!may_run_ || !shell_.file.valid()) return;
  if (is_proved_ && has_exited_) return owner_->OnShellLeft(shell_);
  if (is_proved_ && !is_ending_) return;  // its program could not be executed
  shell_.part.report->state = ShellReport::State::kLost;
  shell_.part.report->reason =
      is_ending_ ? "the command was ended before it came to its own end" : "the session has ended";
}

}  // namespace native_runner
