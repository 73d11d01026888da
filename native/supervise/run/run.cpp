#include "supervise/run/run.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>

#include "policy/denials/denials.h"
#include "policy/options/environment.h"
#include "supervise/host/host.h"
#include "supervise/os/file.h"
#include "supervise/os/file_threads.h"
#include "supervise/preparation/backend.h"
#include "supervise/preparation/leases.h"

namespace native_runner {
namespace {

// Returns the hard limit of a command's open files. The kernel also bounds by it how many
// descriptors of the user may be on their way in messages (ETOOMANYREFS in unix(7)); the rest stays
// for this process and the launchers, whose limit is higher: a quarter, or 4,096.
std::uint64_t MostOpenFiles() {
  constexpr rlim_t kMostKept = 4096;
  rlimit own{};
  if (getrlimit(RLIMIT_NOFILE, &own) != 0 || own.rlim_cur == RLIM_INFINITY) return kNoLimit;
  return own.rlim_cur - std::min(own.rlim_cur / 4, kMostKept);
}

Outcome SetupFailed(const Error& error) {
  Outcome failed = native_runner::SetupFailed(error.message);
  failed.fix = error.fix;
  return failed;
}

std::string SetupErrorText(const RunRecord& record, const ExitStatus& status,
                           std::string_view opening) {
  while (!opening.empty() && (opening.back() == '\n' || opening.back() == ' ')) {
    opening.remove_suffix(1);
  }
  if (!opening.empty()) return std::string(opening);
  return record.runtime + " ended during set-up with " +
         (status.signaled ? SignalName(status.value) : "status " + std::to_string(status.value)) +
         " and without a word";
}

}  // namespace

void RunConclusion::SetCause(Outcome cause) {
  if (!cause_) cause_ = std::move(cause);
}

void RunConclusion::SetOverLimit(const char* limit) {
  const bool is_own =
      !cause_ || cause_->kind == OutcomeKind::kExited || cause_->kind == OutcomeKind::kSignaled;
  if (is_own) cause_ = OverLimit(limit);
}

void RunConclusion::NoteEnd(const Report& report, const Limits& limits, bool memory_killed) {
  last_report_ = report;
  if (cause_) return;
  if (report.kind == ReportKind::kExited) {
    cause_ = OutcomeOfExit(report, limits, memory_killed);
  } else {
    cause_ = OutcomeOfFailedStart(report);
  }
}

Outcome RunConclusion::FinalOutcome(const RunRecord& record, const Sandbox* sandbox,
                                    std::string_view opening) const {
  if (cause_) return *cause_;
  if (ready_) return Signaled(SIGKILL);  // an outside process ended the sandbox
  if (const auto status = sandbox->child_status()) {
    return SetupFailed(SetupErrorText(record, *status, opening));
  }
  return SetupFailed("the session ended before the command was started");
}

Usage RunConclusion::FinalUsage(const Sandbox* sandbox) const {
  if (last_report_) {
    return {last_report_->user_cpu_us, last_report_->system_cpu_us,
            last_report_->peak_memory_bytes};
  }
  // The launcher was killed before its report. The child's own usage includes its descendants' time
  // and its set-up. Its peak memory is useless: it starts with this process's (posix_spawn shares
  // it).
  if (sandbox == nullptr || !sandbox->child_status() || !ready_) return {};
  return {sandbox->child_status()->user_cpu_us, sandbox->child_status()->system_cpu_us, 0};
}

// Called when the sandbox is gone. Without a pid namespace, only the launcher's report proves the
// end of processes that the command left behind.
Kill RunConclusion::FinalKill(const Sandbox* sandbox, bool is_asked) const {
  if (sandbox == nullptr) return Kill::kNone;
  if (!is_asked && !(last_report_ && last_report_->killed != 0)) return Kill::kNone;
  const bool is_reported =
      last_report_ && (last_report_->kind != ReportKind::kExited || last_report_->error == 0);
  return is_reported || !ready_ || sandbox->end_is_proof() ? Kill::kProved : Kill::kUnproved;
}

Run::Run(SupervisorContext& shared, std::shared_ptr<const Backend> runtime, ExecRequest request,
         Listener listener)
    : shared_(shared),
      runtime_(std::move(runtime)),
      request_(std::move(request)),
      listener_(std::move(listener)),
      streams_(&request_, listener_.on_chunk, listener_.on_event) {}

void Run::Start() {
  timestamps_.submitted = request_.submitted_ns;
  timestamps_.started = uv_hrtime();
  uv_update_time(shared_.loop);  // the cached time may be old and would make the deadline early
  if (request_.limits.timeout_ms) {
    deadline_.Start(shared_.loop, *request_.limits.timeout_ms, 0, [this] { End(Overdue()); });
  }
  if (!HoldLease()) return End(LeaseExpired());
  Prepare();
}

// A deadline that passed while the host's files did not answer names their path.
Outcome Run::Overdue() const {
  if (phase_ != Phase::kPreparing || shared_.files == nullptr) return TimedOut();
  auto late = shared_.files->Late(runtime_.get());
  if (!late && shared_.programs != nullptr) late = shared_.programs->Late();
  return late ? SetupFailed(*late) : TimedOut();
}

// A call of explain needs no lease.
bool Run::HoldLease() {
  return !request_.lease || request_.Is<ExplainCall>() ||
         shared_.leases.Join(shared_.loop, request_.lease, this);
}

void Run::LeaveLease() {
  if (request_.lease) shared_.leases.Leave(request_.lease, this);
}

// An order that is still to be sent contains the new time.
void Run::OnLeaseRenewed(std::uint64_t until_ns) {
  if (phase_ == Phase::kRunning) sandbox_->SendLease(until_ns);
}

void Run::Prepare() {
  const auto self = shared_from_this();
  phase_ = Phase::kPreparing;
  runtime_->Prepare(request_, shared_, [self](Result<Preparation> prepared) {
    self->OnPrepared(std::move(prepared));
  });
  if (phase_ != Phase::kPreparing || !listener_.on_held_up) return;
  held_up_.Start(shared_.loop, kHeldUpMs, 0, [this] {
    is_held_up_ = true;
    listener_.on_held_up();
  });
}

void Run::OnPrepared(Result<Preparation>&& prepared) {
  held_up_.Stop();
  if (phase_ != Phase::kPreparing) return;  // it ended while a program was looked for
  if (!prepared) return FinishWithout(prepared.error());
  if (!std::exchange(is_held_up_, false)) return Measure(std::move(*prepared));
  const auto kept = std::make_shared<Preparation>(std::move(*prepared));
  listener_.on_answer([self = shared_from_this(), kept] {
    if (self->phase_ != Phase::kPreparing) return false;
    self->Measure(std::move(*kept));
    return true;
  });
}

// Looks at what is there before the run, if a limit is about what it adds.
void Run::Measure(Preparation preparation) {
  if (request_.Is<ExplainCall>() || !SpaceWatch::IsWanted(request_.limits))
    return Launch(std::move(preparation));
  space_ = std::make_unique<SpaceWatch>(shared_, std::move(preparation.places), request_.limits);
  const auto kept = std::make_shared<Preparation>(std::move(preparation));
  space_->Begin([self = shared_from_this(), kept](const std::optional<Error>& error) {
    if (self->phase_ != Phase::kPreparing) return;
    if (error) return self->FinishWithout(*error);
    self->Launch(std::move(*kept));
  });
}

void Run::Launch(Preparation preparation) {
  record_ = std::move(preparation.record);
  scene_ = std::move(preparation.scene);
  if (request_.Is<ExplainCall>()) {
    if (const auto* plan = std::get_if<SpawnPlan>(&preparation.plan)) {
      if (plan->clones_of != 0) start_ = SandboxStart::kCloned;
      cold_reason_ = plan->cold_reason;
    }
    conclusion_.SetCause({OutcomeKind::kExited, 0, 0, {}, {}, {}});
    return Finish();
  }
  // Without confinement nothing is refused.
  const bool is_confined = (preparation.order.flags & kOrderNoNewPrivs) != 0;
  if (request_.explain != Explain::kNo && is_confined) preparation.order.flags |= kOrderExplain;
  if (request_.explain == Explain::kLookUps && is_confined)
    preparation.order.flags |= kOrderLookUps;
  if (is_confined) preparation.order.most_open_files = MostOpenFiles();
  if (request_.merge_stderr) preparation.order.flags |= kOrderMergeStderr;
  if (request_.lease) preparation.order.lease_until_ns = request_.lease->until_ns();
  if (streams_.live() != nullptr) streams_.live()->Complete(&preparation.order);
  const auto* session = std::get_if<SessionPlan>(&preparation.plan);
  const bool has_argv = session != nullptr && !session->argv.empty();
  if (session != nullptr) shell_ = session->shell;
  if (session != nullptr && !session->environment.empty()) {
    request_.environment = session->environment;
  }
  if (!preparation.home.empty() && request_.home) {
    request_.environment =
        WithOwnHome(std::move(request_.environment), *request_.home, preparation.home);
  }
  if (const auto failed = streams_.MakeInput()) return FinishWithout(*failed);
  const auto source = SourceOf(&preparation);
  auto acquired = source->Acquire(streams_.input(), &preparation.order);
  if (!acquired) return FinishWithout(acquired.error());
  const auto order =
      EncodeOrder(preparation.order, preparation.cwd, has_argv ? session->argv : request_.argv,
                  request_.environment, preparation.rules);
  sandbox_ = std::move(*acquired);
  start_ = source->start();
  is_prewarmed_ = start_ == SandboxStart::kPrewarmed;
  if (cold_reason_.empty()) cold_reason_ = source->cold_reason();
  phase_ = Phase::kRunning;
  // Before the order: what a sandbox holds that was there already is not this run's.
  const auto unseen = space_ ? space_->Enter(*sandbox_, false) : std::nullopt;
  if (unseen) {
    static_cast<void>(Watch());  // sees its end
    return End(SetupFailed(*unseen));
  }
  if (!Begin(order)) End(SetupFailed("cannot hand the order to the launcher"));
}

std::unique_ptr<SandboxSource> Run::SourceOf(Preparation* preparation) {
  if (auto* session = std::get_if<SessionPlan>(&preparation->plan)) return std::move(session->slot);
  SpawnPlan plan = std::move(*std::get_if<SpawnPlan>(&preparation->plan));
  if (plan.allow_prewarmed) {
    if (auto prewarmed = listener_.take(plan.fingerprint)) return prewarmed;
  }
  return std::make_unique<SpawnSource>(shared_, *runtime_, request_.limits, std::move(plan));
}

// Watches the sandbox in any case, so that its end is seen.
bool Run::Begin(std::span<const std::byte> order) {
  if (!sandbox_->takes_order_first()) return Watch() && HandOver(order);
  const bool is_sent = HandOver(order);
  return Watch() && is_sent;
}

bool Run::HandOver(std::span<const std::byte> order) {
  if (SandboxNetwork* const network = sandbox_->network())
    connecting_ = network->Enter(request_.argv, listener_.on_connection, request_.terminator_run);
  if (const Forwards* const forwards = sandbox_->forwards()) forwards_before_ = forwards->MarkNow();
  return streams_.SendInput(shared_.loop, sandbox_.get()) &&
         sandbox_->SendOrder(order) != LauncherChannel::Sent::kFailed;
}

void Run::LeaveNetwork() {
  if (connecting_) connections_ = sandbox_->network()->Leave(*std::exchange(connecting_, {}));
}

// Passes on what a server had sent before it ended.
void Run::LeaveForwards() {
  Forwards* const forwards = sandbox_ ? sandbox_->forwards() : nullptr;
  if (forwards == nullptr) return;
  for (const std::uint64_t number : forwards_)
    forwards->Close(number, true);
  forwarded_ = forwards->Since(forwards_before_);
}

// Hides the set-up messages of a prewarmed sandbox (see OnGone): its pipes are watched only after
// the set-up, before which no command writes.
bool Run::Watch() {
  waits_for_set_up_ = is_prewarmed_ && !sandbox_->has_launcher();
  const bool until_ready = waits_for_set_up_ || streams_.live() != nullptr || space_;
  if (!sandbox_->Watch(shared_.loop, this, until_ready)) return false;
  return waits_for_set_up_ || StartStreams();
}

bool Run::StartStreams() {
  return streams_.Start(shared_.loop, sandbox_.get(), shared_.null_device.get());
}

void Run::OnReport(const Report& report) {
  if (report.kind == ReportKind::kAwaitingOrder || report.kind == ReportKind::kTerminal) return;
  if (report.kind == ReportKind::kReady) return OnReady(report);
  if (HasMetChance()) {  // it is ending, and the deadline continues: see OnGone
    if (start_ == SandboxStart::kCloned) cold_reason_ = report.text;
    return;
  }
  timestamps_.command_ended = report.at_ns;
  if (report.kind == ReportKind::kExited && report.error != 0) {
    record_.layers.Add(Layer::kTreeKillIncomplete);  // a process could not be signalled
  }
  deadline_.Stop();
  LeaveLease();
  const bool asks_memory = !conclusion_.has_cause() && report.kind == ReportKind::kExited;
  conclusion_.NoteEnd(report, request_.limits, asks_memory && sandbox_->MemoryKilled());
}

void Run::OnObserved(std::span<const std::byte> records, std::uint64_t omitted) {
  observed_.Take(records, omitted);
}

void Run::OnReady(const Report& report) {
  conclusion_.NoteReady();
  timestamps_.ready = report.at_ns;
  has_used_network_ = report.used_network != 0;
  RecordEnforced(report.enforced);
  LiveProcess* const live = streams_.live();
  const bool going = (!std::exchange(waits_for_set_up_, false) || StartStreams()) &&
                     (live == nullptr || live->Begin(shared_.loop, sandbox_.get())) &&
                     (!space_ || WatchSpace());
  if (going || conclusion_.has_cause()) return;
  conclusion_.SetCause(SetupFailed("cannot watch the command's pipes"));
  deadline_.Start(shared_.loop, 0, 0, [this] { End(conclusion_.cause()); });
}

// Returns false, with the cause set, if the bounds of what it writes can't be kept.
bool Run::WatchSpace() {
  if (conclusion_.has_cause()) return true;
  if (const auto error = space_->Enter(*sandbox_, true)) {
    conclusion_.SetCause(SetupFailed(*error));
    deadline_.Start(shared_.loop, 0, 0, [this] { End(conclusion_.cause()); });
    return false;
  }
  space_->Start([this](const char* limit) { End(OverLimit(limit)); });
  return true;
}

// Records the kernel-dependent layers, which only the launcher can determine.
void Run::RecordEnforced(LayerSet enforced) {
  record_.layers.AddEnforced(enforced);
  record_.layers.Add(sandbox_->own_init() ? Layer::kTreeKillPidNamespace
                                          : Layer::kTreeKillSubreaper);
}

// True if nothing has run and another attempt may succeed: the sandbox met a file that was being
// replaced, or mounts that changed, or the command met the directory that an earlier command left.
bool Run::HasMetChance() const {
  return !conclusion_.ready() && !conclusion_.has_cause() && tries_ < sandbox_->most_tries();
}

// A prewarmed sandbox may also have died, or turn out to have failed its set-up, before the command
// could start: a new one reports the reason if it fails too.
bool Run::MayTryAgain() const {
  const bool lost_prewarmed = is_prewarmed_ && !conclusion_.ready() && !conclusion_.has_cause();
  return lost_prewarmed || HasMetChance();
}

void Run::OnGone() {
  if (!MayTryAgain()) return Conclude();
  if (!is_prewarmed_) ++tries_;
  is_prewarmed_ = false;
  if (start_ == SandboxStart::kCloned && cold_reason_.empty())
    cold_reason_ = "its clone ended before the command began";
  start_ = SandboxStart::kCold;
  request_.allow_prewarmed = false;
  request_.clones_of = 0;
  if (shell_) lost_directory_ = shell_->lost_directory;
  streams_.Rewind();
  LeaveNetwork();
  connections_ = {};
  sandbox_.reset();
  space_.reset();
  Prepare();
}

// All its processes are gone: what they have added is final.
void Run::Conclude() {
  if (!space_ || !conclusion_.ready()) return Finish();
  phase_ = Phase::kConcluding;
  space_->Finish([self = shared_from_this()](const char* limit) {
    if (limit != nullptr) self->conclusion_.SetOverLimit(limit);
    self->Finish();
  });
}

void Run::Abort() {
  const bool has_expired = request_.lease && request_.lease->HasEnded(LeaseNow());
  End(has_expired ? LeaseExpired() : Aborted());
}

void Run::End(Outcome cause) {
  if (phase_ == Phase::kDone || phase_ == Phase::kConcluding) return;
  if (phase_ != Phase::kRunning) {
    conclusion_.SetCause(std::move(cause));
    return Finish();
  }
  const auto self = shared_from_this();
  sandbox_->Receive();  // an exit that was reported in time is the first cause
  if (!conclusion_.has_ended() && timestamps_.kill_asked == 0) timestamps_.kill_asked = uv_hrtime();
  conclusion_.SetCause(std::move(cause));
  deadline_.Stop();
  LeaveLease();
  sandbox_->End();
}

void Run::Apply(LiveAction action) {
  LiveProcess* const live = streams_.live();
  const bool runs = phase_ == Phase::kRunning && conclusion_.ready() && !conclusion_.has_cause();
  if (live != nullptr && phase_ != Phase::kDone)
    live->Apply(std::move(action), runs ? sandbox_.get() : nullptr);
}

PortState Run::LookForPort(std::uint16_t port) const {
  if (ForbidsSockets(record_)) return PortState::kNoSockets;
  return phase_ == Phase::kRunning && conclusion_.ready() ? sandbox_->LookForPort(port)
                                                          : PortState::kSilent;
}

ForwardAnswer Run::Forward(const ForwardRequest& request) {
  const bool runs = phase_ == Phase::kRunning && conclusion_.ready() && !conclusion_.has_cause();
  if (!runs) return {.state = ForwardState::kGone};
  const ForwardAnswer answer = OpenForward(sandbox_.get(), record_, request);
  if (answer.state == ForwardState::kOpen) forwards_.push_back(answer.number);
  return answer;
}

void Run::CloseForward(std::uint64_t number) {
  const bool is_own = std::ranges::find(forwards_, number) != forwards_.end();
  if (Forwards* const forwards = is_own && sandbox_ ? sandbox_->forwards() : nullptr)
    forwards->Close(number, false);
}

void Run::Finish() {
  const auto self = shared_from_this();
  deadline_.Stop();
  held_up_.Stop();
  LeaveLease();
  streams_.Finish();
  LeaveNetwork();
  LeaveForwards();
  RunResult result;
  result.outcome = FinalOutcome();
  result.usage = conclusion_.FinalUsage(sandbox_.get());
  streams_.Take(&result);
  result.record = record_.runtime.empty() ? runtime_->Unprepared(request_) : std::move(record_);
  if (result.record.is_by_domain) result.connections = std::move(connections_);
  result.forwards = std::move(forwarded_);
  result.observations_omitted = observed_.omitted();
  result.observations = observed_.TakeAll();
  timestamps_.ended = uv_hrtime();
  result.ended_ms =
      std::chrono::duration<double, std::milli>(std::chrono::system_clock::now().time_since_epoch())
          .count();
  result.duration_ms = timestamps_.started == 0
                           ? 0
                           : static_cast<double>(timestamps_.ended - timestamps_.started) / 1e6;
  result.timing = TimingOf(timestamps_);
  result.start = start_;
  if (start_ == SandboxStart::kCold) result.cold_reason = std::move(cold_reason_);
  result.has_used_network = has_used_network_;
  result.kill = conclusion_.FinalKill(sandbox_.get(), timestamps_.kill_asked != 0);
  if (shell_) {
    result.shell = *shell_;
    if (!lost_directory_.empty()) result.shell->lost_directory = lost_directory_;
  }
  phase_ = Phase::kDone;
  Settle(std::move(result));
}

// Adds the denials to the result. With `explain` that may examine the host's files, which takes as
// long as their file system does.
void Run::Settle(RunResult result) {
  const bool is_refused = !result.observations.empty() || result.connections.has_value() ||
                          result.outcome.kind == OutcomeKind::kLimitExceeded;
  if (request_.explain == Explain::kNo && !is_refused) return listener_.on_end(std::move(result));
  auto settled = std::make_shared<RunResult>(std::move(result));
  DeniedRun denied{.scene = std::move(scene_),
                   .argv = request_.argv,
                   .environment = request_.environment,
                   .limits = request_.limits,
                   .explain = request_.explain != Explain::kNo && request_.advice != nullptr,
                   .advice = request_.advice,
                   .is_root = geteuid() == 0,
                   .outcome = settled->outcome,
                   .observations = settled->observations,
                   .observations_omitted = settled->observations_omitted,
                   .connections = settled->connections ? &*settled->connections : nullptr};
  if (!NeedsLook(denied)) {
    settled->denials = ReportDenials(denied, nullptr);
    return listener_.on_end(std::move(*settled));
  }
  ReportDenialsLater(shared_.files, std::move(denied),
                     [self = shared_from_this(), settled](DenialLog denials) {
                       settled->denials = std::move(denials);
                       self->listener_.on_end(std::move(*settled));
                     });
}

void Run::FinishWithout(const Error& error) {
  if (error.code == ErrorCode::kSetup) {
    conclusion_.SetCause(SetupFailed(error));
    return Finish();
  }
  const auto self = shared_from_this();
  deadline_.Stop();
  held_up_.Stop();
  LeaveLease();
  streams_.Finish();  // an earlier sandbox may have begun them
  phase_ = Phase::kDone;
  RunResult result;
  result.rejection = error;
  listener_.on_end(std::move(result));
}

Outcome Run::FinalOutcome() {
  Outcome outcome = conclusion_.FinalOutcome(record_, sandbox_.get(), streams_.opening());
  if (outcome.kind == OutcomeKind::kSetupFailed && outcome.fix.empty()) {
    outcome.fix = SetupFix(outcome.reason, record_.runtime, record_.cmd);
  }
  if (outcome.kind == OutcomeKind::kSetupFailed &&
      streams_.opening().find(outcome.reason) == std::string_view::npos) {
    streams_.Append("native-runner: " + outcome.reason + "\n");
  }
  return outcome;
}

namespace {

// Above the amount that a launcher sends.
constexpr std::size_t kMostBytes = std::size_t{2} << 20U;

}  // namespace

void CollectedObservations::Take(std::span<const std::byte> records, std::uint64_t omitted) {
  omitted_ = std::max(omitted_, omitted);
  const bool fits = bytes_ + records.size() <= kMostBytes;
  for (Observation& each : ReadObservations(records)) {
    if (fits) {
      all_.push_back(std::move(each));
    } else {
      dropped_ += each.count;
    }
  }
  if (fits) bytes_ += records.size();
}

namespace {

// Examines host paths as the user of this process. Opens nothing, so that no FIFO, device or
// automounter is triggered. Looks at each path once, and at a bounded number of paths. Any thread,
// one at a time.
class HostLook {
 public:
  HostLookup At(const std::string& path);

 private:
  static constexpr std::size_t kMostLooks = 16'384;

  std::unordered_map<std::string, HostLookup> known_;
};

bool Stat(const std::string& path, int flags, struct statx* status) {
  constexpr int kQuiet = AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC;
  return statx(AT_FDCWD, path.c_str(), flags | kQuiet, STATX_TYPE, status) == 0;
}

bool May(const std::string& path, int mode) {
  return faccessat(AT_FDCWD, path.c_str(), mode, AT_EACCESS) == 0;
}

HostLookup LookAt(const std::string& path) {
  NotePath(path);
  HostLookup at;
  struct statx status {};
  if (!Stat(path, AT_SYMLINK_NOFOLLOW, &status)) return at;
  std::array<char, PATH_MAX> text{};
  if ((status.stx_mode & S_IFMT) == S_IFLNK) {
    const ssize_t size = readlink(path.c_str(), text.data(), text.size());
    if (size > 0) at.link.assign(text.data(), static_cast<std::size_t>(size));
    if (!Stat(path, 0, &status)) return at;
  }
  const unsigned type = status.stx_mode & S_IFMT;
  at.type = type == S_IFREG   ? HostLookup::Type::kFile
            : type == S_IFDIR ? HostLookup::Type::kDirectory
                              : HostLookup::Type::kOther;
  if (realpath(path.c_str(), text.data()) != nullptr) at.real = text.data();
  at.readable = May(path, R_OK);
  at.writable = May(path, W_OK);
  at.executable = May(path, X_OK);
  return at;
}

HostLookup HostLook::At(const std::string& path) {
  if (const auto known = known_.find(path); known != known_.end()) return known->second;
  if (known_.size() >= kMostLooks) return {};
  return known_.emplace(path, LookAt(path)).first->second;
}

struct Work {
  DeniedRun run;
  ConnectionLog connections;  // a copy: the work may outlive the run
  DenialLog log;
};

}  // namespace

void ReportDenialsLater(FileThreads* threads, DeniedRun run, std::function<void(DenialLog)> done) {
  constexpr std::uint64_t kPatienceMs = 2'000;
  const auto work = std::make_shared<Work>();
  work->run = std::move(run);
  if (work->run.connections != nullptr) {
    work->connections = *work->run.connections;
    work->run.connections = &work->connections;
  }
  const auto look = [work] {
    HostLook host;
    work->log =
        ReportDenials(work->run, [&host](const std::string& path) { return host.At(path); });
  };
  const auto report = [work, done = std::move(done)](const std::optional<Error>& unanswered) {
    if (!unanswered) return done(std::move(work->log));
    done(ReportDenials(work->run, [](const std::string&) { return HostLookup(); }));
  };
  if (threads != nullptr) return threads->Do(work.get(), look, report, kPatienceMs);
  look();
  report(std::nullopt);
}

}  // namespace native_runner
