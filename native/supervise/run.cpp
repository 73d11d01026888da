#include "supervise/run.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string>
#include <utility>

#include "supervise/holders.h"

namespace native_runner {
namespace {

constexpr std::uint64_t kInsistAfterMs = 200;
constexpr std::uint64_t kInsistEveryMs = 50;
constexpr int kPatience = 10;  // turns in which a launcher may end its tree by itself

std::string Complaint(const RunRecord& record, const ExitStatus& status, std::string_view opening) {
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
      listener_(std::move(listener)),
      out_(KeepRuleFor(request_.limits.max_stdout_bytes, request_.limits.keep),
           request_.stream_stdout
               ? [this](const std::uint8_t* data,
                        std::size_t size) { listener_.on_chunk(Stream::kStdout, data, size); }
               : Capture::Chunk()),
      err_(KeepRuleFor(request_.limits.max_stderr_bytes, request_.limits.keep),
           request_.stream_stderr
               ? [this](const std::uint8_t* data,
                        std::size_t size) { listener_.on_chunk(Stream::kStderr, data, size); }
               : Capture::Chunk()) {}

void Run::Start() {
  phase_ = Phase::kPreparing;
  started_ns_ = uv_hrtime();
  uv_update_time(shared_.loop);  // the cached time may be old, and would make the deadline early
  if (request_.limits.timeout_ms) {
    deadline_.Start(shared_.loop, *request_.limits.timeout_ms, 0, [this] { End(TimedOut()); });
  }
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
  own_pid_namespace_ = preparation.own_pid_namespace;
  holds_ = std::move(preparation.holds);
  if (preparation.wants_cgroup) {
    auto group = shared_.cgroups.Create(request_.limits);
    if (!group) return FinishWithout(group.error());
    cgroup_ = std::move(*group);
  }
  if (const auto failed = Spawn(preparation)) return FinishWithout(*failed);
  phase_ = Phase::kRunning;
  const auto order = EncodeOrder(preparation.order, preparation.cwd, request_.argv,
                                 request_.environment, preparation.rules);
  bool going = true;
  if (cgroup_) {
    going = cgroup_->Add(child_->pid());
    const Gate gate = std::move(preparation.gate);
    if (going && gate.descriptor.valid()) {
      going = write(gate.descriptor.get(), gate.bytes.data(), gate.bytes.size()) ==
              static_cast<ssize_t>(gate.bytes.size());
    }
  }
  // Without its order the launcher only waits: nothing has run yet when one of these fails.
  going = going && WatchChild() && control_->SendOrder(order) != Control::Sent::kFailed;
  if (!going) End(SetupFailed("cannot hand the order to the launcher"));
}

std::optional<Error> Run::Spawn(Preparation& preparation) {
  SpawnOrder& order = preparation.spawn;
  Descriptor peer;
  auto control = Control::Open(&peer);
  if (!control) return control.error();
  auto out = MakePipe();
  if (!out) return out.error();
  auto err = MakePipe();
  if (!err) return err.error();
  Descriptor stdin_end;
  if (request_.stdin_bytes.empty()) {
    order.inherited.push_back({shared_.null_device.get(), STDIN_FILENO});
  } else {
    auto in = MakePipe();
    if (!in) return in.error();
    order.Give(std::move(in->read), STDIN_FILENO);
    stdin_end = std::move(in->write);
  }
  order.Give(std::move(out->write), STDOUT_FILENO);
  order.Give(std::move(err->write), STDERR_FILENO);
  order.Give(std::move(peer), kControlDescriptor);
  auto child = Child::Spawn(std::move(order));
  if (!child) return child.error();
  child_.emplace(std::move(*child));
  control_.emplace(std::move(*control));
  const int null_device = shared_.null_device.get();
  const bool watching = out_.Start(shared_.loop, std::move(out->read), null_device) &&
                        err_.Start(shared_.loop, std::move(err->read), null_device) &&
                        (!stdin_end.valid() || feeder_.Start(shared_.loop, std::move(stdin_end),
                                                             std::move(request_.stdin_bytes)));
  if (!watching) cause_ = SetupFailed("cannot watch the command's pipes");
  return std::nullopt;
}

bool Run::WatchControl() {
  return control_poll_.Start(shared_.loop, control_->descriptor(), UV_READABLE, [this] {
    OnControl();
    FinishIfOver();
  }) == 0;
}

// With a pid namespace the child's exit is news enough: what was reported before it is read then,
// as it is when a deadline comes, and each wake-up less is host CPU saved. Without one the command
// could stop the child, and only the report tells that it has ended.
bool Run::WatchChild() {
  return !cause_ && (own_pid_namespace_ || WatchControl()) &&
         child_poll_.Start(shared_.loop, child_->pidfd(), UV_READABLE, [this] {
           OnChildExit();
           FinishIfOver();
         }) == 0;
}

void Run::OnControl() {
  while (!control_closed_) {
    Report report;
    Descriptor pidfd;
    switch (control_->Receive(&report, &pidfd)) {
      case Control::Received::kNothing:
        return;
      case Control::Received::kClosed:
        control_closed_ = true;
        control_poll_.Stop();
        return;
      case Control::Received::kReport:
        OnReport(report, std::move(pidfd));
    }
  }
}

void Run::OnReport(const Report& report, Descriptor pidfd) {
  if (report.kind == ReportKind::kReady) {
    ready_ = true;
    RecordEnforced(report.enforced);
    launcher_ = std::move(pidfd);
    return;
  }
  last_report_ = report;
  if (report.kind == ReportKind::kExited && report.error != 0) {
    record_.layers.emplace_back("tree-kill:incomplete");  // a process could not be signalled
  }
  deadline_.Stop();
  control_poll_.Stop();  // what is still to come is the end of bwrap: looked at again then
  if (!cause_) {
    if (report.kind == ReportKind::kExited) {
      cause_ = OutcomeOfExit(report, request_.limits, cgroup_ && cgroup_->MemoryKilled());
    } else {
      cause_ = OutcomeOfFailedStart(report);
    }
  }
  if (!insist_.active()) {
    insist_.Start(shared_.loop, kInsistAfterMs, kInsistEveryMs, [this] { Insist(); });
  }
}

// What the launcher alone could find out: which of the layers that depend on the kernel it has.
void Run::RecordEnforced(std::uint32_t enforced) {
  own_pid_namespace_ |= (enforced & kEnforcedOwnInit) != 0;
  const auto add = [this](const char* name) {
    auto& layers = record_.layers;
    if (std::find(layers.begin(), layers.end(), name) == layers.end()) layers.emplace_back(name);
  };
  for (std::uint32_t rest = enforced; rest != 0; rest &= rest - 1)
    add(EnforcedLayerName(rest & (~rest + 1)));
  add(own_pid_namespace_ ? "tree-kill:pid-namespace" : "tree-kill:subreaper");
}

void Run::OnChildExit() {
  child_status_ = child_->Reap();
  if (!child_status_) return;
  child_poll_.Stop();
  OnControl();
  // bwrap is gone without its launcher, or without the half of itself that sets up: end those.
  if (!control_closed_ && !last_report_ && !ending_) {
    ending_ = true;
    control_->SendKill();
    insist_.Start(shared_.loop, kInsistEveryMs, kInsistEveryMs, [this] { Insist(); });
  }
}

void Run::End(Outcome cause) {
  if (phase_ == Phase::kDone) return;
  if (phase_ != Phase::kRunning) {
    cause_ = std::move(cause);
    return Finish();
  }
  const auto self = shared_from_this();
  OnControl();  // an exit that was reported in time is the first cause
  if (!cause_) cause_ = std::move(cause);
  if (!ending_ && !last_report_) {
    ending_ = true;
    deadline_.Stop();
    control_->SendKill();
    insist_.Start(shared_.loop, kInsistAfterMs, kInsistEveryMs, [this] { Insist(); });
  }
  FinishIfOver();
}

// The launcher ends its tree by itself when it is told to. This is for when it does not answer.
void Run::Insist() {
  const auto self = shared_from_this();
  ++insisted_;
  OnControl();
  if (control_closed_ && LauncherIsGone()) {
    child_->Signal(SIGKILL);  // what it was the parent of is gone
  } else if (!ready_) {
    KillHolders(control_->peer_inode());
  } else if (!launcher_.valid()) {
    child_->Signal(SIGKILL);  // no pidfd to be had: bwrap's death is the launcher's (PDEATHSIG)
  } else if (!own_pid_namespace_ && insisted_ <= kPatience) {
    SignalPidfd(launcher_.get(), SIGCONT);  // the command may have stopped it
  } else {
    SignalPidfd(launcher_.get(), SIGKILL);
  }
  if (!child_status_) OnChildExit();
  FinishIfOver();
}

void Run::FinishIfOver() {
  if (phase_ != Phase::kRunning) return;
  if (!child_status_) return;
  OnControl();
  if (!control_closed_) {
    if (!control_poll_.active()) WatchControl();
    return;
  }
  if (LauncherIsGone()) return Finish();
  // Most often it went before bwrap did. Only now is it worth a watch of its own.
  if (!launcher_poll_.active()) {
    launcher_poll_.Start(shared_.loop, launcher_.get(), UV_READABLE, [this] { FinishIfOver(); });
  }
}

// A pidfd becomes readable when its process has ended, a pid namespace's first one only after all
// the others (pidfd_open(2), pid_namespaces(7)).
bool Run::LauncherIsGone() const {
  if (!launcher_.valid()) return true;
  pollfd process{launcher_.get(), POLLIN, 0};
  return poll(&process, 1, 0) == 1;
}

void Run::Finish() {
  const auto self = shared_from_this();
  deadline_.Stop();
  insist_.Stop();
  feeder_.Stop();
  out_.Finish();
  err_.Finish();
  RunResult result;
  result.outcome = FinalOutcome();
  result.usage = FinalUsage();
  result.out = {out_.Take(), out_.total(), out_.truncated()};
  result.err = {err_.Take(), err_.total(), err_.truncated()};
  result.record = record_.runtime.empty() ? runtime_->Unprepared(request_) : std::move(record_);
  result.duration_ms = started_ns_ == 0 ? 0 : static_cast<double>(uv_hrtime() - started_ns_) / 1e6;
  cgroup_.reset();
  holds_.reset();
  phase_ = Phase::kDone;
  listener_.on_end(std::move(result));
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
  } else {
    outcome = SetupFailed(Complaint(record_, *child_status_, err_.opening()));
  }
  if (outcome.kind == OutcomeKind::kSetupFailed &&
      err_.opening().find(outcome.reason) == std::string_view::npos) {
    err_.Append("native-runner: " + outcome.reason + "\n");
  }
  return outcome;
}

Usage Run::FinalUsage() const {
  if (last_report_) {
    return {last_report_->user_cpu_us, last_report_->system_cpu_us,
            last_report_->peak_memory_bytes};
  }
  // Killed before it could report: the child's own account has its descendants' time, and that of
  // its set-up. Its peak memory is no use: it starts with this process's (posix_spawn shares it).
  if (child_status_ && ready_) {
    return {child_status_->user_cpu_us, child_status_->system_cpu_us, 0};
  }
  return {};
}

}  // namespace native_runner
