#include "supervise/session/session.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "policy/options/workspace_path.h"
#include "policy/outcome/outcome.h"
#include "supervise/sandbox/spawned_sandbox.h"
#include "supervise/session/session_slot.h"

namespace native_runner {
namespace {

// What a launcher is started with in place of a command's.
constexpr const char* kSessionName = "session";

constexpr const char* kDistrusted =
    "the end of a command could not be proved, so all of its processes were ended";

// What a session does once is not each command's to do: its launcher's layers come with the fork.
constexpr std::uint32_t kOfCommands =
    kOrderLandlock | kOrderScoped | kOrderNoNewPrivs | kOrderNoCapabilities;

std::vector<std::string> WithDirectory(std::vector<std::string> environment,
                                       const std::string& cwd) {
  for (std::string& variable : environment) {
    if (variable.starts_with("PWD=")) variable = "PWD=" + cwd;
  }
  return environment;
}

}  // namespace

Error Session::SessionEnded(const std::string& reason) {
  return {ErrorCode::kClosed, "the session has ended: " + reason, "open another one"};
}

Session::Session(Shared& shared, std::shared_ptr<const Runtime> runtime, SessionRule rule,
                 Listener listener)
    : shared_(shared),
      runtime_(std::move(runtime)),
      rule_(rule),
      listener_(std::move(listener)),
      setup_stderr_({}, {}) {}

Session::~Session() = default;

void Session::Open() {
  phase_ = Phase::kOpening;
  self_ = shared_from_this();
  const auto request = std::make_shared<ExecRequest>();  // only what shapes a sandbox counts
  request->argv = {kSessionName};
  request->opens_session = true;
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

// The memory that sized /tmp is no limit of the commands'.
void Session::Spawn(Preparation preparation) {
  preparation.wants_cgroup = false;
  preparation.order = {.flags = preparation.order.flags | kOrderSession,
                       .required = preparation.order.required};
  if (preparation.mount_points) mounted_upon_ = LookAtMountPoints(*preparation.mount_points);
  if (auto failed = runtime_->AttachOptions(&preparation)) return FailToOpen(*failed);
  preparation.spawn.inherited.push_back({shared_.null_device.get(), STDIN_FILENO});
  auto made = SpawnedSandbox::Spawn(std::move(preparation.spawn), preparation.own_pid_namespace);
  if (!made) return FailToOpen(made.error());
  sandbox_ = std::move(*made);
  plan_ = std::move(preparation);
  const std::array<std::string, 1> argv = {kSessionName};
  const auto order = EncodeOrder(plan_.order, plan_.cwd, argv, {}, plan_.rules);
  const bool going =
      sandbox_->Watch(shared_.loop, this, true) &&
      setup_stderr_.Start(shared_.loop, sandbox_->TakeStderr(), shared_.null_device.get()) &&
      sandbox_->SendOrder(order) != Control::Sent::kFailed;
  if (!going) Close("its launcher can't be watched");
}

void Session::OnReport(const Report& report) {
  if (report.kind == ReportKind::kExited) is_proved_ = report.error == 0;
  if (report.kind == ReportKind::kRefused) reason_ = OutcomeOfFailedStart(report).reason;
  if (report.kind == ReportKind::kAwaitingOrder && !sandbox_->Watch(shared_.loop, this, true)) {
    Close("its launcher can't be watched");  // it was there before its order: kReady is to come
  }
  if (report.kind != ReportKind::kReady || phase_ != Phase::kOpening) return;
  phase_ = Phase::kOpen;
  has_opened_ = true;
  is_separating_ = report.enforced.Has(Layer::kCommandSeparation);
  plan_.record.layers = LayersOfCommands(report.enforced);
  WatchIdleness();
  PrepareNextSlot();
  listener_.on_open(plan_.record.layers);
}

// A run adds how its own tree is ended to these.
LayerRecord Session::LayersOfCommands(LayerSet enforced) const {
  LayerRecord layers = plan_.record.layers;
  layers.Remove(
      {Layer::kTreeKillPidNamespace, Layer::kTreeKillSubreaper, Layer::kRlimits, Layer::kCgroup});
  layers.AddEnforced(enforced);
  layers.Add(Layer::kSession);
  return layers;
}

// The kernel takes a mask away when the file under it is replaced on the host, as passwd(1) does
// with /etc/shadow: from then on no command is to be started.
void Session::CheckMasks() {
  if (phase_ == Phase::kOpen && plan_.mount_points &&
      LookAtMountPoints(*plan_.mount_points) != mounted_upon_) {
    Close("a file that it hides was replaced on the host");
  }
}

Result<Preparation> Session::Plan(const ExecRequest& request) {
  CheckMasks();
  if (phase_ != Phase::kOpen) return SessionEnded(reason_);
  if (HasRunAll()) return SessionEnded(RunAll());
  auto relative = WorkspaceRelative(request.cwd, "NativeRunner.exec");
  if (!relative) return relative.error();
  Preparation plan;
  plan.session = shared_from_this();
  plan.order.flags = plan_.order.flags & kOfCommands;
  plan.record = plan_.record;
  plan.shell.is_in_its_directory = rule_.keeps_shell && request.cwd.empty();
  const bool is_elsewhere = plan.shell.is_in_its_directory && !shell_.cwd.empty();
  plan.cwd = is_elsewhere ? shell_.cwd : JoinPath(plan_.workspace, *relative);
  if (is_elsewhere) plan.environment = WithDirectory(request.environment, plan.cwd);
  if (rule_.keeps_shell && IsShellCommand(request.argv)) {
    ShellCommand command = WithShellState(request.argv, request.named_environment, shell_);
    plan.argv = std::move(command.argv);
    plan.shell.prelude = std::move(command.prelude);
  }
  const CgroupParent none;
  if (auto error = ApplyLimits(request.limits, none, plan_.counts_processes, &plan)) return *error;
  // RLIMIT_NPROC counts the launchers of the commands that run at the same time too, and the one
  // that stands.
  if (plan.order.processes != kNoLimit) plan.order.processes += slots_.size() + 2;
  RunRecord& record = plan.record;
  if (record.command_at == 0) record.cmd = request.argv[0];
  record.argv.resize(record.command_at);
  record.argv.insert(record.argv.end(), request.argv.begin(), request.argv.end());
  record.cwd = plan.cwd;
  return plan;
}

Result<std::unique_ptr<Sandbox>> Session::Enter(const ShellPart& shell) {
  SessionSlot::State state;
  state.is_in_its_directory = shell.is_in_its_directory;
  if (!shell.prelude.empty()) {
    auto file = MemoryFile("state", shell.prelude.data(), shell.prelude.size(), false);
    if (!file) return file.error();
    state.file = std::move(*file);
    state.given = shell.prelude.size();
  }
  auto place = std::move(next_slot_);
  if (!place || !place->IsAlive()) {
    auto made = MakeSlot();
    if (!made) return made.error();
    place = std::move(*made);
  }
  place->Enter(shared_from_this(), std::move(state), !is_separating_);
  slots_.insert(place.get());
  idle_.Stop();
  ++commands_;
  return Result<std::unique_ptr<Sandbox>>(std::move(place));
}

Result<std::unique_ptr<SessionSlot>> Session::MakeSlot() {
  Descriptor peer;
  auto control = Control::Open(&peer);
  if (!control) return control.error();
  auto out = MakePipe();
  if (!out) return out.error();
  auto err = MakePipe();
  if (!err) return err.error();
  const std::array given = {peer.get(), shared_.null_device.get(), out->write.get(),
                            err->write.get()};
  if (sandbox_->SendCommand(given) != Control::Sent::kSent) {
    return Error{ErrorCode::kSetup, "cannot hand the command to the session", ""};
  }
  return std::make_unique<SessionSlot>(std::move(*control), std::move(out->read),
                                       std::move(err->read));
}

// One that can't be made is no matter here: the next command tries again, and tells why.
void Session::PrepareNextSlot() {
  const bool was_last = rule_.max_commands > 0 && commands_ >= rule_.max_commands;
  if (phase_ != Phase::kOpen || next_slot_ || was_last) return;
  if (auto made = MakeSlot()) next_slot_ = std::move(*made);
}

void Session::ForgetSlot(SessionSlot* slot) {
  slots_.erase(slot);
  if (!slots_.empty()) return;
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

void Session::EndUnproved() {
  Close(kDistrusted);
}

void Session::Adopt(int state, std::size_t given, bool with_directory) {
  const off_t before = static_cast<off_t>(given);
  const off_t size = lseek(state, 0, SEEK_END);
  if (size <= before || static_cast<std::size_t>(size - before) > kMostShellState) return;
  std::string written(static_cast<std::size_t>(size - before), '\0');
  if (pread(state, written.data(), written.size(), before) != size - before) return;
  std::string cwd = shell_.cwd;
  if (ReadShellState(written, &shell_) && !with_directory) shell_.cwd = std::move(cwd);
}

void Session::Close(const std::string& reason) {
  if (phase_ == Phase::kClosing || phase_ == Phase::kGone) return;
  if (reason_.empty()) reason_ = reason;
  phase_ = Phase::kClosing;
  idle_.Stop();
  if (sandbox_) sandbox_->End();  // else a program is looked for: what comes of it sees the phase
}

void Session::OnGone() {
  const auto self = shared_from_this();
  const bool was_closed = phase_ == Phase::kClosing;
  phase_ = Phase::kGone;
  idle_.Stop();
  setup_stderr_.Finish();
  if (reason_.empty()) reason_ = has_opened_ ? "its first process is gone" : SetupErrorText();
  if (!has_opened_) {
    self_.reset();
    return listener_.on_open(
        Error{was_closed ? ErrorCode::kClosed : ErrorCode::kSetup, reason_, ""});
  }
  const bool is_proof = is_proved_ || sandbox_->own_init();
  Dismiss(is_proof);
  const auto entered = slots_;  // a copy: each leaves
  for (SessionSlot* each : entered)
    each->OnSessionGone(is_proof);
  if (slots_.empty()) Finish();
}

// What stands is one of the session's processes, too.
void Session::Dismiss(bool is_proof) {
  if (!next_slot_ || is_proof) return next_slot_.reset();
  next_slot_->Enter(shared_from_this(), {}, false);
  slots_.insert(next_slot_.get());
  // Where it can't be watched, its timer sees its end.
  static_cast<void>(next_slot_->Watch(shared_.loop, &dismissed_, false));
}

void Session::Dismissed::OnGone() {
  session->next_slot_.reset();
}

// The last command has left, too: only where the end of our launcher is not that of all there was
// does that take a while.
void Session::Finish() {
  if (const auto self = std::exchange(self_, nullptr)) listener_.on_gone(reason_);
}

// Why there is no session: bwrap's own words, where it has said something.
std::string Session::SetupErrorText() const {
  std::string text(setup_stderr_.opening());
  while (!text.empty() && (text.back() == '\n' || text.back() == ' '))
    text.pop_back();
  return text.empty() ? plan_.record.runtime + " ended during set-up and without a word" : text;
}

void Session::FailToOpen(const Error& error) {
  phase_ = Phase::kGone;
  reason_ = error.message;
  const auto self = std::exchange(self_, nullptr);
  listener_.on_open(error);
}

}  // namespace native_runner
