#include "supervise/run/run.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string>
#include <utility>

#include "supervise/sandbox/spawned_sandbox.h"
#include "supervise/session/session.h"

namespace native_runner {
namespace {

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

Run::Run(Shared& shared, std::shared_ptr<const Runtime> runtime, ExecRequest request,
         Listener listener)
    : shared_(shared),
      runtime_(std::move(runtime)),
      request_(std::move(request)),
      listener_(std::move(listener)) {
  if (request_.live) {
    live_ = std::make_unique<LiveProcess>(*request_.live, request_.merge_stderr, listener_.on_chunk,
                                          listener_.on_event);
  }
  out_ = MakeOutput(Stream::kStdout);
  err_ = MakeOutput(Stream::kStderr);
}

std::unique_ptr<Output> Run::MakeOutput(Stream stream) {
  if (live_) return live_->MakeOutput(stream);
  const bool is_out = stream == Stream::kStdout;
  const Limits& limits = request_.limits;
  Capture::Chunk on_chunk;
  const bool is_merged = request_.merge_stderr;  // then stderr has what a set-up says, no more
  if (is_out ? request_.stream_stdout : request_.stream_stderr && !is_merged) {
    on_chunk = [this, stream](const std::uint8_t* data, std::size_t size) {
      listener_.on_chunk(stream, data, size);
    };
  }
  const std::uint64_t most =
      is_out || is_merged ? limits.max_stdout_bytes : limits.max_stderr_bytes;
  return std::make_unique<Capture>(KeepRuleFor(most, limits.keep), std::move(on_chunk));
}

void Run::Start() {
  timestamps_.submitted = request_.submitted_ns;
  timestamps_.started = uv_hrtime();
  uv_update_time(shared_.loop);  // the cached time may be old, and would make the deadline early
  if (request_.limits.timeout_ms) {
    deadline_.Start(shared_.loop, *request_.limits.timeout_ms, 0, [this] { End(TimedOut()); });
  }
  Prepare();
}

void Run::Prepare() {
  phase_ = Phase::kPreparing;
  runtime_->Prepare(request_, shared_, [self = shared_from_this()](Result<Preparation> prepared) {
    if (self->phase_ != Phase::kPreparing) return;  // it ended while a program was looked for
    if (prepared) {
      self->Launch(std::move(*prepared));
    } else {
      self->FinishWithout(prepared.error());
    }
  });
}

void Run::Launch(Preparation preparation) {
  record_ = std::move(preparation.record);
  if (request_.plan_only) {
    cause_ = Outcome{OutcomeKind::kExited, 0, 0, {}, {}, {}};
    return Finish();
  }
  if (!preparation.argv.empty()) request_.argv = std::move(preparation.argv);
  if (!preparation.environment.empty()) request_.environment = std::move(preparation.environment);
  if (request_.merge_stderr) preparation.order.flags |= kOrderMergeStderr;
  if (live_) live_->Complete(&preparation.order);
  const auto order = EncodeOrder(preparation.order, preparation.cwd, request_.argv,
                                 request_.environment, preparation.rules);
  if (preparation.session) return Enter(*preparation.session, preparation.shell, order);
  if (preparation.fingerprint.valid()) {
    auto standing = listener_.take(preparation.fingerprint);
    if (standing) return LaunchIn(std::move(standing), order);
  }
  LaunchNew(std::move(preparation), order);
}

void Run::LaunchNew(Preparation preparation, std::span<const std::byte> order) {
  holds_ = std::move(preparation.holds);
  if (preparation.wants_cgroup) {
    auto group = shared_.cgroups.Create(request_.limits);
    if (!group) return FinishWithout(group.error());
    cgroup_ = std::move(*group);
  }
  if (const auto failed = runtime_->AttachOptions(&preparation)) return FinishWithout(*failed);
  if (!AddInput()) return FinishWithout(SystemError("pipe2", errno));
  if (input_.read.valid()) {
    preparation.spawn.Give(std::move(input_.read), STDIN_FILENO);
  } else {
    preparation.spawn.inherited.push_back({shared_.null_device.get(), STDIN_FILENO});
  }
  auto made = SpawnedSandbox::Spawn(std::move(preparation.spawn), preparation.own_pid_namespace);
  if (!made) return FinishWithout(made.error());
  sandbox_ = std::move(*made);
  phase_ = Phase::kRunning;
  bool going = sandbox_->Watch(shared_.loop, this, live_ != nullptr) && StartPipes() &&
               (!live_ || SendInput());
  if (cgroup_) {
    going = going && cgroup_->Add(sandbox_->child_pid());
    const Gate gate = std::move(preparation.gate);
    if (going && gate.descriptor.valid()) {
      going = write(gate.descriptor.get(), gate.bytes.data(), gate.bytes.size()) ==
              static_cast<ssize_t>(gate.bytes.size());
    }
  }
  // Without its order the launcher only waits: nothing has run yet when one of these fails.
  going = going && sandbox_->SendOrder(order) != Control::Sent::kFailed;
  if (!going) End(SetupFailed("cannot hand the order to the launcher"));
}

// What a set-up that is still under way has to say is nobody's business (see OnGone): then the
// pipes are watched as soon as it is over, before which no command writes.
void Run::LaunchIn(std::unique_ptr<Sandbox> standing, std::span<const std::byte> order) {
  sandbox_ = std::move(standing);
  sandbox_->set_user(this);
  is_taken_ = true;
  phase_ = Phase::kRunning;
  bool going = SendInput();
  waits_for_set_up_ = !sandbox_->has_launcher();
  going = going && (waits_for_set_up_ || StartPipes());
  going = going && sandbox_->SendOrder(order) != Control::Sent::kFailed;
  if (!going) End(SetupFailed("cannot hand the order to the launcher"));
}

void Run::Enter(Session& session, const ShellPart& shell, std::span<const std::byte> order) {
  auto made = session.Enter(shell);
  if (!made) return FinishWithout(made.error());
  sandbox_ = std::move(*made);
  phase_ = Phase::kRunning;
  // The order first: what is watched after it does not keep the command waiting.
  const bool is_sent = SendInput() && sandbox_->SendOrder(order) == Control::Sent::kSent;
  const bool is_watched = sandbox_->Watch(shared_.loop, this, live_ != nullptr) && StartPipes();
  if (!is_sent || !is_watched) End(SetupFailed("cannot hand the command to the session"));
}

// No input is /dev/null, not an empty pipe: programs such as rg tell the two apart.
bool Run::AddInput() {
  if (request_.stdin_bytes.empty()) return true;
  auto pipe = MakePipe();
  if (pipe) input_ = std::move(*pipe);
  return pipe.ok();
}

bool Run::SendInput() {
  if (live_) return live_->SendInput(shared_.loop, sandbox_.get());
  if (!AddInput()) return false;
  if (!input_.read.valid()) return true;
  const Descriptor read = std::move(input_.read);
  return sandbox_->SendInput(read.get()) != Control::Sent::kFailed;
}

bool Run::StartPipes() {
  const int null_device = shared_.null_device.get();
  const bool has_terminal = live_ && live_->has_terminal();  // which takes the place of stdout
  return (has_terminal || out_->Start(shared_.loop, sandbox_->TakeStdout(), null_device)) &&
         err_->Start(shared_.loop, sandbox_->TakeStderr(), null_device) &&
         (!input_.write.valid() ||
          feeder_.Start(shared_.loop, std::move(input_.write), std::move(request_.stdin_bytes)));
}

void Run::OnReport(const Report& report) {
  if (report.kind == ReportKind::kAwaitingOrder || report.kind == ReportKind::kTerminal) return;
  if (report.kind == ReportKind::kReady) {
    ready_ = true;
    timestamps_.ready = report.at_ns;
    RecordEnforced(report.enforced);
    const bool going = !std::exchange(waits_for_set_up_, false) || StartPipes();
    if (!(going && (!live_ || live_->Begin(shared_.loop, sandbox_.get()))) && !cause_) {
      cause_ = SetupFailed("cannot watch the command's pipes");
      deadline_.Start(shared_.loop, 0, 0, [this] { End(*cause_); });
    }
    return;
  }
  last_report_ = report;
  timestamps_.command_ended = report.at_ns;
  if (report.kind == ReportKind::kExited && report.error != 0) {
    record_.layers.emplace_back("tree-kill:incomplete");  // a process could not be signalled
  }
  deadline_.Stop();
  if (cause_) return;
  if (report.kind == ReportKind::kExited) {
    cause_ = OutcomeOfExit(report, request_.limits, cgroup_ && cgroup_->MemoryKilled());
  } else {
    cause_ = OutcomeOfFailedStart(report);
  }
}

// What the launcher alone could find out: which of the layers that depend on the kernel it has.
void Run::RecordEnforced(std::uint32_t enforced) {
  const auto add = [this](const char* name) {
    auto& layers = record_.layers;
    if (std::find(layers.begin(), layers.end(), name) == layers.end()) layers.emplace_back(name);
  };
  for (std::uint32_t rest = enforced; rest != 0; rest &= rest - 1)
    add(EnforcedLayerName(rest & (~rest + 1)));
  add(sandbox_->own_init() ? "tree-kill:pid-namespace" : "tree-kill:subreaper");
}

void Run::OnGone() {
  // One that stood may have died, or may turn out to have failed its set-up, before the command
  // could start: then nothing has run, and a new one tells why if it fails too.
  if (is_taken_ && !ready_ && !cause_) {
    is_taken_ = false;
    request_.may_stand = false;
    input_ = {};
    if (!waits_for_set_up_) request_.stdin_bytes = feeder_.Recall();
    sandbox_.reset();
    return Prepare();
  }
  Finish();
}

void Run::End(Outcome cause) {
  if (phase_ == Phase::kDone) return;
  if (phase_ != Phase::kRunning) {
    cause_ = std::move(cause);
    return Finish();
  }
  const auto self = shared_from_this();
  sandbox_->Receive();  // an exit that was reported in time is the first cause
  if (!last_report_ && timestamps_.kill_asked == 0) timestamps_.kill_asked = uv_hrtime();
  if (!cause_) cause_ = std::move(cause);
  deadline_.Stop();
  sandbox_->End();
}

void Run::Apply(LiveAction action) {
  const bool runs = phase_ == Phase::kRunning && ready_ && !cause_;
  if (live_ && phase_ != Phase::kDone)
    live_->Apply(std::move(action), runs ? sandbox_.get() : nullptr);
}

void Run::Finish() {
  const auto self = shared_from_this();
  deadline_.Stop();
  feeder_.Stop();
  if (live_) live_->Finish();
  out_->Finish();
  err_->Finish();
  RunResult result;
  result.outcome = FinalOutcome();
  if (request_.merge_stderr && !live_) MergeOutputs();
  result.usage = FinalUsage();
  result.out = {out_->Take(), out_->total(), out_->truncated()};
  result.err = {err_->Take(), err_->total(), err_->truncated()};
  result.record = record_.runtime.empty() ? runtime_->Unprepared(request_) : std::move(record_);
  timestamps_.ended = uv_hrtime();
  result.duration_ms = timestamps_.started == 0
                           ? 0
                           : static_cast<double>(timestamps_.ended - timestamps_.started) / 1e6;
  result.timing = TimingOf(timestamps_);
  result.prewarmed = is_taken_;
  result.kill = FinalKill();
  cgroup_.reset();
  holds_.reset();
  phase_ = Phase::kDone;
  listener_.on_end(std::move(result));
}

// What was said before the launcher could merge the two, of a set-up that failed.
void Run::MergeOutputs() {
  const Bytes said = err_->Take();
  out_->Append({reinterpret_cast<const char*>(said.data()), said.size()});
  err_ = std::make_unique<Capture>(KeepRuleFor(0, Keep::kHead), nullptr);
}

void Run::FinishWithout(const Error& error) {
  if (error.code == ErrorCode::kSetup) {
    cause_ = SetupFailed(error.message);
    cause_->fix = error.fix;
    return Finish();
  }
  const auto self = shared_from_this();
  deadline_.Stop();
  phase_ = Phase::kDone;
  RunResult result;
  result.rejection = error;
  listener_.on_end(std::move(result));
}

Outcome Run::FinalOutcome() {
  Outcome outcome;
  if (cause_) {
    outcome = *cause_;
  } else if (ready_) {
    outcome = Signaled(SIGKILL);  // somebody on the host ended the sandbox
  } else if (const auto status = sandbox_->child_status()) {
    outcome = SetupFailed(SetupErrorText(record_, *status, err_->opening()));
  } else {
    outcome = SetupFailed("the session ended before the command was started");
  }
  if (outcome.kind == OutcomeKind::kSetupFailed &&
      err_->opening().find(outcome.reason) == std::string_view::npos) {
    err_->Append("native-runner: " + outcome.reason + "\n");
  }
  return outcome;
}

// The sandbox is gone. Without a pid namespace, only the launcher can tell that of what the command
// left behind.
Kill Run::FinalKill() const {
  const bool is_asked = sandbox_ && timestamps_.kill_asked != 0;
  if (!is_asked && !(last_report_ && last_report_->killed != 0)) return Kill::kNone;
  const bool is_told =
      last_report_ && (last_report_->kind != ReportKind::kExited || last_report_->error == 0);
  return is_told || !ready_ || sandbox_->end_is_proof() ? Kill::kProved : Kill::kUnproved;
}

Usage Run::FinalUsage() const {
  if (last_report_) {
    return {last_report_->user_cpu_us, last_report_->system_cpu_us,
            last_report_->peak_memory_bytes};
  }
  // Killed before it could report: the child's own account has its descendants' time, and that of
  // its set-up. Its peak memory is no use: it starts with this process's (posix_spawn shares it).
  if (!sandbox_ || !sandbox_->child_status() || !ready_) return {};
  return {sandbox_->child_status()->user_cpu_us, sandbox_->child_status()->system_cpu_us, 0};
}

}  // namespace native_runner
