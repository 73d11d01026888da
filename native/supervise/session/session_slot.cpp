#include "supervise/session/session_slot.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>

#include "supervise/sandbox/launcher_channel.h"

namespace native_runner {
namespace {

std::vector<std::string> WithDirectory(std::vector<std::string> environment,
                                       const std::string& cwd) {
  for (std::string& variable : environment) {
    if (variable.starts_with("PWD=")) variable = "PWD=" + cwd;
  }
  return environment;
}

// Returns the state that a command has appended; empty if it can't be read.
std::string Written(const ShellFile& left) {
  const off_t before = static_cast<off_t>(left.given);
  const off_t size = lseek(left.file.get(), 0, SEEK_END);
  if (size <= before) return {};
  // One byte above the limit shows that the state is too large.
  const auto kept = std::min(static_cast<std::size_t>(size - before), kMostShellState + 1);
  std::string written(kept, '\0');
  const ssize_t got = pread(left.file.get(), written.data(), kept, before);
  written.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return written;
}

}  // namespace

Result<ShellFile> ShellFile::Make(ShellPart part) {
  ShellFile made;
  const std::string prelude = std::move(part.prelude);
  made.part = std::move(part);
  if (prelude.empty()) return made;
  auto file = MemoryFile("state", prelude.data(), prelude.size(), false);
  if (!file) return file.error();
  made.file = std::move(*file);
  made.given = prelude.size();
  return made;
}

ShellPart SessionShell::Enter(const ExecRequest& request, SessionPlan* plan) const {
  ShellPart part;
  part.report = std::make_shared<ShellReport>();
  plan->shell = part.report;
  part.hands_on_directory = request.cwd.empty();
  if (part.hands_on_directory && !state_.cwd.empty()) {
    part.directory = state_.cwd;
    plan->environment = WithDirectory(request.environment, state_.cwd);
  }
  if (IsShellCommand(request.argv)) {
    part.named = request.named_environment;
    ShellCommand command = WithShellState(request.argv, part.named, state_);
    plan->argv = std::move(command.argv);
    part.prelude = std::move(command.prelude);
  }
  return part;
}

void SessionShell::Adopt(const ShellFile& left) {
  std::string directory = state_.cwd;
  const auto lost = ReadShellState(Written(left), left.part.named, &state_);
  left.part.report->state = lost ? ShellReport::State::kLost : ShellReport::State::kKept;
  if (lost) left.part.report->reason = *lost;
  if (!lost && !left.part.hands_on_directory) state_.cwd = std::move(directory);
}

void SessionShell::LeaveDirectory(const ShellFile& refused) {
  refused.part.report->lost_directory = refused.part.directory;
  if (state_.cwd == refused.part.directory) state_.cwd.clear();
}

namespace {

// Number of checks in which a launcher ordered to end its tree may do nothing; each check wakes it.
constexpr int kMostSilentTurns = 10;

}  // namespace

SessionSlot::SessionSlot(LauncherChannel control, Descriptor out, Descriptor err)
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
  return channel_poll_.Start(loop, control_.descriptor(), UV_READABLE, [this] {
    Receive();
    Settle();
  }) == 0;
}

LauncherChannel::Sent SessionSlot::SendOrder(std::span<const std::byte> order) {
  auto sent =
      shell_.file.valid() ? control_.SendState(shell_.file.get()) : LauncherChannel::Sent::kSent;
  if (sent == LauncherChannel::Sent::kSent) sent = control_.SendOrder(order);
  owner_->OnOrderSent();
  return sent == LauncherChannel::Sent::kSent ? sent : LauncherChannel::Sent::kFailed;
}

// If the command's launcher has not reported that no process is left, the session was ended.
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
  return !channel_closed_ && !has_ended_ && !is_ending_;
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

// Handles a launcher that does not answer: the command may have stopped or killed it.
void SessionSlot::Insist() {
  Receive();
  const bool is_silent =
      !launcher_.valid() || end_watch_.Look(launcher_.get()) == EndWatch::Seen::kSilent;
  if (is_silent) ++silent_turns_;
  const bool is_patient = silent_turns_ <= kMostSilentTurns;
  if (!is_patient && NeverStarts()) return BeGone();
  if (!is_patient && !is_orphan_) return owner_->OnUnproved();  // may destroy this
  if (launcher_.valid()) SignalPidfd(launcher_.get(), is_patient ? SIGCONT : SIGKILL);
  Settle();
}

// A launcher that can't report kReady starts no command. Without that report there is nothing whose
// end has to be proved, and the session's other commands continue.
bool SessionSlot::NeverStarts() {
  if (is_orphan_ || may_run_ || !control_.RefuseReports()) return false;
  Receive();
  return !may_run_;
}

// The last report is the proof: the launcher only has to exit after it.
void SessionSlot::Settle() {
  if (is_orphan_) return SettleAlone();
  if (is_proved_) return BeGone();
  if (!channel_closed_) return;
  if (!may_run_) return BeGone();
  owner_->OnUnproved();
}

void SessionSlot::SettleAlone() {
  if (!is_proved_ && !channel_closed_) return;
  if (LauncherIsGone()) return BeGone();
  WatchRest([this] { Settle(); });
}

// A launcher that outlives the session's launcher ends its own tree, as without a session.
void SessionSlot::OnSessionGone(bool is_proof) {
  Receive();
  if (is_proof) return BeGone();
  is_orphan_ = true;
  End();
}

void SessionSlot::BeGone() {
  if (user_ == nullptr) return;
  insist_.Stop();
  channel_poll_.Stop();
  rest_poll_.Stop();
  HandOnShell();
  std::exchange(user_, nullptr)->OnGone();
}

// A shell that was ordered to end may still have written its state. That state is dropped: the
// caller sees a deadline or an abort, and expects an unchanged state.
void SessionSlot::HandOnShell() {
  if (!may_run_ || !shell_.file.valid()) return;
  if (is_proved_ && has_exited_) return owner_->OnShellLeft(shell_);
  if (is_proved_ && !is_ending_) return;  // its program could not be executed
  shell_.part.report->state = ShellReport::State::kLost;
  shell_.part.report->reason =
      is_ending_ ? "the command was ended before it came to its own end" : "the session has ended";
}

Result<std::unique_ptr<SessionSlot>> SessionSlots::Take(Sandbox* sandbox) {
  auto slot = std::move(next_);
  if (slot && slot->IsAlive()) return slot;
  return Make(sandbox);
}

Result<std::unique_ptr<SessionSlot>> SessionSlots::Make(Sandbox* sandbox) const {
  auto channels = Channels::Open();
  if (!channels) return channels.error();
  const std::array given = {channels->peer.get(), shared_.null_device.get(),
                            channels->out.write.get(), channels->err.write.get()};
  if (sandbox->SendCommand(given) != LauncherChannel::Sent::kSent) {
    return Error{ErrorCode::kSetup, "cannot hand the command to the session", ""};
  }
  return std::make_unique<SessionSlot>(std::move(channels->control), std::move(channels->out.read),
                                       std::move(channels->err.read));
}

void SessionSlots::PrepareNext(Sandbox* sandbox) {
  if (next_) return;
  if (auto made = Make(sandbox)) next_ = std::move(*made);
}

void SessionSlots::OnSessionGone(const std::shared_ptr<SessionSlot::Owner>& owner, bool is_proof) {
  Dismiss(owner, is_proof);
  const auto entered = entered_;  // a copy: each slot leaves
  for (SessionSlot* each : entered)
    each->OnSessionGone(is_proof);
}

// The spare slot's launcher is one of the session's processes, too.
void SessionSlots::Dismiss(const std::shared_ptr<SessionSlot::Owner>& owner, bool is_proof) {
  if (!next_ || is_proof) return next_.reset();
  next_->Enter(owner, {}, false);
  Add(next_.get());
  // If it can't be watched, its timer sees its end.
  static_cast<void>(next_->Watch(shared_.loop, &dismissed_, false));
}

}  // namespace native_runner
