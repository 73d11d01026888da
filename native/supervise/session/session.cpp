#include "supervise/session/session.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>
#include <variant>

#include "policy/run/outcome.h"
#include "policy/text/path.h"
#include "supervise/host/host.h"
#include "supervise/preparation/backend.h"
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

namespace {

// Flags that each command needs; the session's other layers are inherited with the fork.
constexpr std::uint32_t kOfCommands =
    kOrderLandlock | kOrderScoped | kOrderNoNewPrivs | kOrderNoCapabilities;

}  // namespace

CommandTemplate::CommandTemplate(const Preparation& of_session)
    : flags_(of_session.order.flags & kOfCommands),
      record_(of_session.record),
      home_(of_session.home),
      scene_(of_session.scene),
      places_(of_session.places) {
  if (const auto* plan = std::get_if<SpawnPlan>(&of_session.plan)) {
    workspace_ = plan->workspace;
    counts_processes_ = plan->counts_processes;
  }
}

// Removes the layers that concern one tree; each run adds its own.
void CommandTemplate::AddEnforced(LayerSet enforced) {
  LayerRecord& layers = record_.layers;
  layers.Remove(
      {Layer::kTreeKillPidNamespace, Layer::kTreeKillSubreaper, Layer::kRlimits, Layer::kCgroup});
  layers.AddEnforced(enforced);
  layers.Add(Layer::kSession);
}

Result<Preparation> CommandTemplate::Make(const ExecRequest& request, std::string cwd,
                                          std::size_t others) const {
  Preparation made;
  made.plan.emplace<SessionPlan>();
  made.order.flags = flags_;
  made.record = record_;
  made.scene = scene_;
  made.cwd = std::move(cwd);
  made.home = home_;
  made.places = places_;
  if (auto error = ApplyLimits(request.limits, {}, counts_processes_, &made)) return *error;
  if (made.order.processes != kNoLimit) made.order.processes += others;
  RunRecord& record = made.record;
  if (record.command_at == 0) record.cmd = request.argv[0];
  record.argv.resize(record.command_at);
  record.argv.insert(record.argv.end(), request.argv.begin(), request.argv.end());
  record.cwd = made.cwd;
  return made;
}

std::string CommandTemplate::InWorkspace(const std::string& relative) const {
  return JoinPath(workspace_, relative);
}

namespace {

// Provides the slot of a planned command, with the shell part of its plan.
class SlotSource final : public SandboxSource {
 public:
  SlotSource(std::shared_ptr<Session> session, ShellPart shell)
      : session_(std::move(session)), shell_(std::move(shell)) {}

  Result<std::unique_ptr<Sandbox>> Acquire(Descriptor* /*input*/, OrderHeader* /*order*/) override {
    return session_->Enter(std::move(shell_));
  }
  SandboxStart start() const override { return SandboxStart::kSession; }

 private:
  std::shared_ptr<Session> session_;
  ShellPart shell_;
};

// The launcher's argv in place of a command's.
constexpr const char* kSessionName = "session";

constexpr const char* kDistrusted =
    "the end of a command could not be proved, so all of its processes were ended";

}  // namespace

Error Session::SessionEnded(const std::string& reason) {
  return {ErrorCode::kClosed, "the session has ended: " + reason, "open another one"};
}

Session::Session(SupervisorContext& shared, std::shared_ptr<const Backend> runtime,
                 SessionRule rule, Listener listener)
    : shared_(shared),
      runtime_(std::move(runtime)),
      rule_(rule),
      listener_(std::move(listener)),
      slots_(shared) {}

Session::~Session() = default;

void Session::Open(const SessionShell* from) {
  if (from != nullptr) shell_ = *from;
  phase_ = Phase::kOpening;
  self_ = shared_from_this();
  PrepareSandbox();
}

void Session::PrepareSandbox() {
  const auto request = std::make_shared<ExecRequest>();  // only the sandbox's shape matters
  request->argv = {kSessionName};
  request->kind = SessionSandbox{};
  if (tries_ == 1) request->clones_of = rule_.clones_of;
  if (rule_.tmp_bytes > 0) request->limits.memory_bytes = rule_.tmp_bytes;
  runtime_->Prepare(*request, shared_,
                    [self = shared_from_this(), request](Result<Preparation> prepared) {
                      if (self->phase_ == Phase::kClosing) {
                        return self->FailToOpen({ErrorCode::kClosed, "the runner was closed", ""});
                      }
                      if (!prepared) return self->FailToOpen(prepared.error());
                      self->Spawn(std::move(*prepared));
                    });
}

// The memory limit only sizes /tmp; it does not limit the commands.
void Session::Spawn(Preparation preparation) {
  auto* plan = std::get_if<SpawnPlan>(&preparation.plan);
  if (plan == nullptr) return FailToOpen({ErrorCode::kSetup, "a session has no sessions", ""});
  plan->wants_cgroup = false;
  // Drops the limits: each command has its own.
  const OrderHeader asked = preparation.order;
  preparation.order = {.flags = asked.flags | kOrderSession,
                       .required = asked.required,
                       .mount_namespace = asked.mount_namespace,
                       .pid_namespace = asked.pid_namespace,
                       .network_namespace = asked.network_namespace,
                       .network_cookie = asked.network_cookie};
  template_ = CommandTemplate(preparation);
  mount_points_ = plan->mount_points;
  if (!mount_points_ || mount_points_->empty()) return Launch(std::move(preparation));
  const auto seen = std::make_shared<std::string>();
  const auto look = [points = mount_points_, seen] { *seen = LookAtMountPoints(*points); };
  const auto kept = std::make_shared<Preparation>(std::move(preparation));
  LookAtFiles(shared_, runtime_.get(), look,
              [self = shared_from_this(), seen, kept](const std::optional<Error>& unanswered) {
                if (self->phase_ == Phase::kClosing)
                  return self->FailToOpen({ErrorCode::kClosed, "the runner was closed", ""});
                if (unanswered) return self->FailToOpen(*unanswered);
                self->mounted_upon_ = std::move(*seen);
                self->Launch(std::move(*kept));
              });
}

void Session::Launch(Preparation preparation) {
  auto* plan = std::get_if<SpawnPlan>(&preparation.plan);
  Descriptor no_input;
  auto made = SpawnSource(shared_, *runtime_, {}, std::move(*plan)).Acquire(&no_input, nullptr);
  if (!made) return FailToOpen(made.error());
  sandbox_ = std::move(*made);
  setup_stderr_.emplace(KeepRule(), Capture::Chunk());
  const std::array<std::string, 1> argv = {kSessionName};
  const auto order = EncodeOrder(preparation.order, preparation.cwd, argv, {}, preparation.rules);
  const bool going =
      sandbox_->Watch(shared_.loop, this, true) &&
      setup_stderr_->Start(shared_.loop, sandbox_->TakeStderr(), shared_.null_device.get()) &&
      sandbox_->SendOrder(order) != LauncherChannel::Sent::kFailed;
  if (!going) Close("its launcher can't be watched");
}

void Session::OnReport(const Report& report) {
  if (report.kind == ReportKind::kExited) is_proved_ = report.error == 0;
  if (report.kind == ReportKind::kRefused) reason_ = OutcomeOfFailedStart(report).reason;
  if (report.kind == ReportKind::kAwaitingOrder && !sandbox_->Watch(shared_.loop, this, true)) {
    Close("its launcher can't be watched");  // connected before its order: kReady is to come
  }
  if (report.kind == ReportKind::kReady && phase_ == Phase::kOpening) OnReady(report);
}

void Session::OnReady(const Report& report) {
  phase_ = Phase::kOpen;
  has_opened_ = true;
  is_separating_ = report.enforced.Has(Layer::kCommandSeparation);
  template_.AddEnforced(report.enforced);
  WatchIdleness();
  OnOrderSent();
  listener_.on_open(template_.record().layers);
}

// Ends the session if a mounted-over file was replaced on the host, as passwd(1) does with
// /etc/shadow: the kernel then removes the mask.
void Session::CheckMasks(const std::string& mounted_upon) {
  if (phase_ == Phase::kOpen && mounted_upon != mounted_upon_)
    Close("what it mounts upon was replaced on the host");
}

void Session::Prepare(const ExecRequest& request, FileThreads::Key key, Backend::Ready ready) {
  if (phase_ != Phase::kOpen || !mount_points_ || mount_points_->empty())
    return ready(Plan(request));
  const auto seen = std::make_shared<std::string>();
  const auto look = [points = mount_points_, seen] { *seen = LookAtMountPoints(*points); };
  const auto plan = [self = shared_from_this(), &request, seen,
                     ready = std::move(ready)](const std::optional<Error>& unanswered) {
    if (unanswered) return ready(*unanswered);
    self->CheckMasks(*seen);
    ready(self->Plan(request));
  };
  LookAtFiles(shared_, key, look, plan);
}

Result<Preparation> Session::Plan(const ExecRequest& request) {
  if (phase_ != Phase::kOpen) return SessionEnded(reason_);
  if (HasRunAll()) return SessionEnded(RunAll());
  auto relative = WorkspaceRelative(request.cwd, "NativeRunner.exec");
  if (!relative) return relative.error();
  const bool is_elsewhere = rule_.keeps_shell && request.cwd.empty() && !shell_.directory().empty();
  // RLIMIT_NPROC also counts the launchers of the other commands and of the spare slot.
  auto made =
      template_.Make(request, is_elsewhere ? shell_.directory() : template_.InWorkspace(*relative),
                     slots_.entered() + 2);
  if (!made) return made;
  auto* plan = std::get_if<SessionPlan>(&made->plan);
  ShellPart shell;
  if (rule_.keeps_shell) shell = shell_.Enter(request, plan);
  plan->slot = std::make_unique<SlotSource>(shared_from_this(), std::move(shell));
  return made;
}

Result<std::unique_ptr<Sandbox>> Session::Enter(ShellPart shell) {
  auto file = ShellFile::Make(std::move(shell));
  if (!file) return file.error();
  auto slot = slots_.Take(sandbox_.get());
  if (!slot) return slot.error();
  (*slot)->Enter(AsOwner(), std::move(*file), !is_separating_);
  slots_.Add(slot->get());
  idle_.Stop();
  ++commands_;
  return Result<std::unique_ptr<Sandbox>>(std::move(*slot));
}

PortState Session::LookForPort(std::uint16_t port) const {
  if (ForbidsSockets(template_.record())) return PortState::kNoSockets;
  return phase_ == Phase::kOpen ? sandbox_->LookForPort(port) : PortState::kSilent;
}

ForwardAnswer Session::Forward(const ForwardRequest& request) {
  if (phase_ != Phase::kOpen) return {.state = ForwardState::kGone};
  return OpenForward(sandbox_.get(), template_.record(), request);
}

void Session::CloseForward(std::uint64_t number) {
  if (Forwards* const forwards = sandbox_ ? sandbox_->forwards() : nullptr)
    forwards->Close(number, false);
}

std::shared_ptr<SessionSlot::Owner> Session::AsOwner() {
  return {shared_from_this(), this};
}

void Session::OnOrderSent() {
  if (phase_ == Phase::kOpen && !HasRunAll()) slots_.PrepareNext(sandbox_.get());
}

// The command runs again, in the workspace, and counts once.
void Session::OnDirectoryRefused(const ShellFile& refused) {
  shell_.LeaveDirectory(refused);
  --commands_;
}

void Session::OnSlotLeft(SessionSlot* slot) {
  slots_.Remove(slot);
  if (slots_.entered() != 0) return;
  if (phase_ == Phase::kOpen) EndWhenUnused();
  if (phase_ == Phase::kGone) Finish();
}

void Session::EndWhenUnused() {
  if (HasRunAll()) return Close(RunAll());
  WatchIdleness();
}

bool Session::HasRunAll() const {
  return rule_.max_commands > 0 && commands_ >= rule_.max_commands;
}

std::string Session::RunAll() const {
  return "it has run its " + std::to_string(rule_.max_commands) + " commands (maxCommands)";
}

void Session::WatchIdleness() {
  if (rule_.idle_ms == 0) return;
  idle_.Start(shared_.loop, rule_.idle_ms, 0, [this] {
    Close("it was idle for " + std::to_string(rule_.idle_ms) + " ms (idleTimeoutMs)");
  });
}

void Session::OnUnproved() {
  Close(kDistrusted);
}

void Session::Close(const std::string& reason) {
  if (phase_ == Phase::kClosing || phase_ == Phase::kGone) return;
  if (reason_.empty()) reason_ = reason;
  phase_ = Phase::kClosing;
  idle_.Stop();
  if (sandbox_) sandbox_->End();  // otherwise Prepare still runs; its callback checks phase_
}

void Session::OnGone() {
  const auto self = shared_from_this();
  setup_stderr_->Finish();
  if (phase_ == Phase::kOpening && tries_ < sandbox_->most_tries()) {
    ++tries_;
    reason_.clear();
    sandbox_.reset();
    return PrepareSandbox();
  }
  if (Forwards* const forwards = sandbox_->forwards()) forwards->CloseAll();
  const bool was_closed = phase_ == Phase::kClosing;
  phase_ = Phase::kGone;
  idle_.Stop();
  if (reason_.empty()) reason_ = has_opened_ ? "its first process is gone" : SetupErrorText();
  if (!has_opened_) {
    self_.reset();
    if (was_closed) return listener_.on_open(Error{ErrorCode::kClosed, reason_, ""});
    const RunRecord& record = template_.record();
    return listener_.on_open(
        Error{ErrorCode::kSetup, reason_, SetupFix(reason_, record.runtime, record.cmd)});
  }
  slots_.OnSessionGone(AsOwner(), is_proved_ || sandbox_->own_init());
  if (slots_.entered() == 0) Finish();
}

// Reports the end once the last command has left, which takes a while only if the launcher's end is
// not the end of all processes.
void Session::Finish() {
  if (const auto self = std::exchange(self_, nullptr)) listener_.on_gone(reason_);
}

// Returns why the session did not open: bwrap's own words, if it wrote any.
std::string Session::SetupErrorText() const {
  std::string text(setup_stderr_->opening());
  while (!text.empty() && (text.back() == '\n' || text.back() == ' '))
    text.pop_back();
  return text.empty() ? template_.record().runtime + " ended during set-up and without a word"
                      : text;
}

void Session::FailToOpen(const Error& error) {
  phase_ = Phase::kGone;
  reason_ = error.message;
  const auto self = std::exchange(self_, nullptr);
  listener_.on_open(error);
}

std::shared_ptr<OwnedSession> SessionBackend::Make(SupervisorContext& shared,
                                                   OwnedSession::Listener listener) const {
  listener.on_gone = [ended = ended_,
                      on_gone = std::move(listener.on_gone)](const std::string& reason) {
    *ended = reason;
    on_gone(reason);
  };
  auto made = std::make_shared<Session>(shared, inner_, rule_, std::move(listener));
  session_ = made;
  return made;
}

RunRecord SessionBackend::Unprepared(const ExecRequest& request) const {
  return inner_->Unprepared(request);
}

void SessionBackend::Prepare(const ExecRequest& request, SupervisorContext& /*shared*/,
                             Ready ready) const {
  const auto session = session_.lock();
  if (!session) return ready(Session::SessionEnded(*ended_));
  session->Prepare(request, this, std::move(ready));
}

}  // namespace native_runner
