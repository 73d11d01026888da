#include "supervise/supervisor.h"

#include <algorithm>
#include <csignal>

#include "supervise/os/handle.h"
#include "supervise/os/mounts.h"
#include "supervise/preparation/leases.h"

namespace native_runner {

void Lanes::Add(RunJob job) {
  const std::uint64_t lane = job.lane;
  lanes_[lane].width = job.lane_width;
  lanes_[lane].waiting.push_back(std::move(job));
  Fill(lane);
}

void Lanes::Leave(std::uint64_t lane) {
  OnEnd(lane);
  Fill(lane);
}

void Lanes::Return(std::uint64_t lane, std::function<bool()> go_on) {
  lanes_[lane].returning.push_back(std::move(go_on));
  Fill(lane);
}

// A run may end while it starts; the outer Fill then starts the next one.
void Lanes::Fill(std::uint64_t lane) {
  const auto found = lanes_.find(lane);
  if (is_filling_ || found == lanes_.end()) return;
  Lane& here = found->second;
  is_filling_ = true;
  while (here.in_flight < here.width) {
    if (!here.returning.empty()) {
      const auto go_on = std::move(here.returning.front());
      here.returning.pop_front();
      ++here.in_flight;
      if (!go_on()) --here.in_flight;
      continue;
    }
    if (here.waiting.empty()) break;
    RunJob job = std::move(here.waiting.front());
    here.waiting.pop_front();
    ++here.in_flight;
    begin_(std::move(job));
  }
  is_filling_ = false;
  if (here.is_idle()) lanes_.erase(found);
}

std::optional<RunJob> Lanes::Withdraw(std::uint64_t run) {
  for (auto& [id, lane] : lanes_) {
    const auto found = std::find_if(lane.waiting.begin(), lane.waiting.end(),
                                    [run](const RunJob& waiting) { return waiting.run == run; });
    if (found == lane.waiting.end()) continue;
    RunJob job = std::move(*found);
    lane.waiting.erase(found);
    return job;
  }
  return std::nullopt;
}

std::vector<RunJob> Lanes::WithdrawAll() {
  std::vector<RunJob> all;
  for (auto& [id, lane] : lanes_) {
    std::move(lane.waiting.begin(), lane.waiting.end(), std::back_inserter(all));
    lane.waiting.clear();
    lane.returning.clear();
  }
  return all;
}

namespace {

constexpr const char* kShuttingDown = "the Node environment is shutting down";

}  // namespace

Result<std::unique_ptr<Supervisor>> Supervisor::Start(const Options& options) {
  std::unique_ptr<Supervisor> made(new Supervisor(options.listener));
  auto launcher = SealedCopy(options.launcher_path);
  if (!launcher) {
    launcher.error().code = ErrorCode::kUnavailable;
    return launcher.error();
  }
  auto null_device = OpenNullDevice();
  if (!null_device) return null_device.error();
  int failed = InitLoop(&made->loop_);
  if (failed != 0) return Error{ErrorCode::kSetup, uv_strerror(failed), ""};
  made->queue_.Open(&made->loop_, [self = made.get()](std::vector<Message> messages) {
    for (Message& message : messages)
      self->OnMessage(std::move(message));
  });
  made->shared_.loop = &made->loop_;
  made->shared_.launcher = std::move(*launcher);
  made->shared_.null_device = std::move(*null_device);
  failed = made->files_.Open(&made->loop_);
  if (failed != 0) {
    made->queue_.Close();
    uv_run(&made->loop_, UV_RUN_DEFAULT);
    uv_loop_close(&made->loop_);
    return Error{ErrorCode::kSetup, uv_strerror(failed), ""};
  }
  made->shared_.files = &made->files_;
  made->shared_.programs = std::make_unique<Programs>(&made->loop_, made->shared_.null_device.get(),
                                                      options.search_path, &made->files_);
  made->shared_.cgroups = CgroupParent::Detect();
  made->questions_.set_loop(&made->loop_);
  made->shared_.questions = &made->questions_;
  made->shared_.templates = &made->pools_;
  failed = uv_thread_create(&made->thread_, Main, made.get());
  if (failed != 0) {
    made->queue_.Close();
    made->files_.Close();
    uv_run(&made->loop_, UV_RUN_DEFAULT);
    uv_loop_close(&made->loop_);
    return Error{ErrorCode::kSetup, uv_strerror(failed), ""};
  }
  made->thread_started_ = true;
  return made;
}

Supervisor::~Supervisor() {
  if (thread_started_) uv_thread_join(&thread_);
}

void Supervisor::Main(void* self) {
  auto* supervisor = static_cast<Supervisor*>(self);
  // Signals are handled by the host process; SIGPIPE in particular must not end it.
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);  // per thread on Linux; pthread_sigmask needs glibc 2.32
  uv_run(&supervisor->loop_, UV_RUN_DEFAULT);
  uv_loop_close(&supervisor->loop_);
  supervisor->listener_->OnClosed();
}

void Supervisor::Submit(Job job) {
  job.request.submitted_ns = uv_hrtime();
  queue_.Post(std::move(job));
}
void Supervisor::Abort(std::uint64_t run) {
  queue_.Post(AbortRequest{run});
}
void Supervisor::Apply(std::uint64_t run, LiveAction action) {
  LiveMessage message;  // not {run, …}: GCC 12 with TSan then takes a part of it for uninitialized
  message.run = run;
  message.action = std::move(action);
  queue_.Post(std::move(message));
}
void Supervisor::Submit(PoolRequest request) {
  queue_.Post(std::move(request));
}
void Supervisor::OpenSession(std::uint64_t session, std::shared_ptr<const SessionOpener> opener,
                             std::uint64_t from) {
  queue_.Post(SessionRequest{session, std::move(opener), from});
}
void Supervisor::CloseSession(std::uint64_t session) {
  queue_.Post(SessionRequest{session, nullptr, 0});
}
void Supervisor::Submit(const PortWait& wait) {
  queue_.Post(wait);
}
void Supervisor::Submit(const ForwardMessage& message) {
  queue_.Post(message);
}
void Supervisor::Submit(PathRequest request) {
  queue_.Post(std::move(request));
}
void Supervisor::StopWait(std::uint64_t wait) {
  queue_.Post(StopWaitRequest{wait});
}
void Supervisor::Answer(std::uint64_t question, NetworkAnswer answer) {
  queue_.Post(AnswerMessage{question, answer});
}
void Supervisor::ReportRenewed(std::shared_ptr<const Lease> lease) {
  queue_.Post(LeaseMessage{std::move(lease)});
}
void Supervisor::Close() {
  queue_.Post(CloseRequest{});
}

void Supervisor::OnMessage(Message message) {
  if (auto* job = std::get_if<Job>(&message)) {
    Take(std::move(*job));
  } else if (auto* live = std::get_if<LiveMessage>(&message)) {
    if (const auto found = runs_.find(live->run); found != runs_.end()) {
      found->second->Apply(std::move(live->action));
    }
  } else if (const auto* abort = std::get_if<AbortRequest>(&message)) {
    AbortRun(abort->run);
  } else if (const auto* request = std::get_if<PoolRequest>(&message)) {
    ServePool(*request);
  } else if (const auto* session = std::get_if<SessionRequest>(&message)) {
    ServeSession(*session);
  } else if (const auto* wait = std::get_if<PortWait>(&message)) {
    ServeWait(*wait);
  } else if (const auto* forward = std::get_if<ForwardMessage>(&message)) {
    listener_->OnForward(forward->request, ServeForward(*forward));
  } else if (const auto* path = std::get_if<PathRequest>(&message)) {
    ServePath(*path);
  } else if (const auto* stop = std::get_if<StopWaitRequest>(&message)) {
    ports_.Stop(stop->wait);
  } else if (const auto* answer = std::get_if<AnswerMessage>(&message)) {
    questions_.Answer(answer->question, answer->answer);
  } else if (const auto* renewed = std::get_if<LeaseMessage>(&message)) {
    shared_.leases.NoteRenewed(renewed->lease);
  } else {
    BeginClose();
  }
}

void Supervisor::Take(Job job) {
  if (closing_) return CancelWaiting(job, true);
  if (job.request.is_aborted) return CancelWaiting(job, false);
  if (job.request.Is<SpawnCall>()) return Begin(std::move(job));
  lanes_.Add(std::move(job));
}

void Supervisor::Begin(Job job) {
  const std::uint64_t id = job.run;
  Run::Listener listener;
  const bool is_live = job.request.Is<SpawnCall>();
  const bool explains = job.request.Is<ExplainCall>();
  if (is_live || job.request.stream_stdout || job.request.stream_stderr) {
    listener.on_chunk = [this, id](Stream stream, const std::uint8_t* data, std::size_t size) {
      listener_->OnChunk(id, stream, {data, data + size});
    };
  }
  if (is_live) {
    listener.on_event = [this, id](LiveEvent event) { listener_->OnEvent(id, event); };
  }
  if (job.request.reports_connections) {
    listener.on_connection = [this, id](RecordEvent event, const ConnectionRecord& record) {
      listener_->OnConnection(id, event, record);
    };
  }
  const PoolReference reference = explains ? PoolReference() : job.pool;
  const std::uint64_t pool = is_live ? 0 : reference.number;
  const auto lane = is_live ? std::nullopt : std::optional(job.lane);
  const auto has_place = std::make_shared<bool>(!is_live);
  listener.on_end = [this, id, lane, pool, has_place](RunResult result) {
    OnRunEnd(id, *has_place ? lane : std::nullopt, pool, std::move(result));
  };
  if (lane == RunJob::kSharedLane) {
    listener.on_held_up = [this, has_place] {
      *has_place = false;
      lanes_.Leave(RunJob::kSharedLane);
    };
    listener.on_answer = [this, has_place](std::function<bool()> go_on) {
      lanes_.Return(RunJob::kSharedLane, [has_place, go_on = std::move(go_on)] {
        *has_place = true;  // the run may end within `go_on`
        if (!go_on()) *has_place = false;
        return *has_place;
      });
    };
  }
  listener.take = [this, pool](const Fingerprint& wanted) { return pools_.Take(pool, wanted); };
  const SandboxPools::Offer offer = pools_.RunStarts(reference, job.runtime, is_live);
  job.request.allow_prewarmed = offer.prewarmed;
  // `explain` takes no template, so none is made for it.
  const bool may_clone = offer.clone || (explains && job.pool.rule.clones);
  job.request.clones_of = may_clone ? job.pool.number : 0;
  auto run = std::make_shared<Run>(shared_, std::move(job.runtime), std::move(job.request),
                                   std::move(listener));
  runs_.emplace(id, run);
  run->Start();
}

void Supervisor::OnRunEnd(std::uint64_t run, std::optional<std::uint64_t> lane, std::uint64_t pool,
                          RunResult result) {
  runs_.erase(run);
  pools_.RunEnds(pool);
  if (lane) lanes_.OnEnd(*lane);
  listener_->OnEnd(run, std::move(result));
  ports_.RunEnds(run);
  if (closing_) {
    CloseLoopIfDone();
  } else if (lane) {
    lanes_.Fill(*lane);
  }
}

void Supervisor::AbortRun(std::uint64_t run) {
  if (const auto found = runs_.find(run); found != runs_.end()) {
    const std::shared_ptr<Run> kept = found->second;
    kept->Abort();
    return;
  }
  if (const auto job = lanes_.Withdraw(run)) CancelWaiting(*job, false);
}

void Supervisor::CancelWaiting(const Job& job, bool closing) {
  RunResult result;
  if (closing) {
    result.rejection = Error{ErrorCode::kClosed, kShuttingDown, ""};
  }
  const auto& lease = job.request.lease;
  result.outcome = lease && lease->HasEnded(LeaseNow()) ? LeaseExpired() : Aborted();
  result.timing = TimingOf({.submitted = job.request.submitted_ns, .ended = uv_hrtime()});
  result.record = job.runtime->Unprepared(job.request);
  listener_->OnEnd(job.run, std::move(result));
}

void Supervisor::ServePool(const PoolRequest& request) {
  const auto answer = [this, id = request.request](Result<std::size_t> prewarmed) {
    listener_->OnPool(id, std::move(prewarmed));
  };
  if (request.closes) {
    pools_.Close(request.pool.number, [answer] { answer(std::size_t{0}); });
  } else if (closing_) {
    answer(Error{ErrorCode::kClosed, kShuttingDown, ""});
  } else {
    pools_.Fill(request.pool, request.runtime, answer);
  }
}

void Supervisor::ServeSession(const SessionRequest& order) {
  const std::uint64_t id = order.session;
  if (!order.opens) {
    const auto found = sessions_.find(id);
    if (found != sessions_.end()) std::shared_ptr(found->second)->Close("it was closed");
    return;
  }
  if (closing_) {
    return listener_->OnSessionOpen(id, Error{ErrorCode::kClosed, kShuttingDown, ""});
  }
  const SessionShell* shell = nullptr;
  if (order.from != 0) {
    const auto from = sessions_.find(order.from);
    if (from != sessions_.end()) shell = from->second->shell();
    if (shell == nullptr) {
      const Error ended = {ErrorCode::kClosed, "the session `from` has ended", ""};
      return listener_->OnSessionOpen(id, ended);
    }
  }
  const auto forget = [this, id] {
    sessions_.erase(id);
    if (closing_) CloseLoopIfDone();
  };
  const auto on_open = [this, id, forget](Result<LayerRecord> layers) {
    const bool has_failed = !layers.ok();
    listener_->OnSessionOpen(id, std::move(layers));
    if (has_failed) forget();
  };
  const auto on_gone = [this, id, forget](const std::string& reason) {
    listener_->OnSessionGone(id, reason);
    ports_.SessionEnds(id);
    forget();
  };
  const auto session = order.opens->Make(shared_, {on_open, on_gone});
  sessions_.emplace(id, session);
  session->Open(shell);
}

PortState Supervisor::LookForPort(const PortWait& wait) const {
  if (wait.run != 0) {
    const auto run = runs_.find(wait.run);
    return run == runs_.end() ? PortState::kGone : run->second->LookForPort(wait.port);
  }
  const auto session = sessions_.find(wait.session);
  return session == sessions_.end() ? PortState::kGone : session->second->LookForPort(wait.port);
}

void Supervisor::ServeWait(const PortWait& wait) {
  if (closing_) return listener_->OnPort(wait.id, PortState::kGone);
  ports_.Add(&loop_, wait);
}

ForwardAnswer Supervisor::ServeForward(const ForwardMessage& message) {
  const auto serve = [&message](auto& owner) -> ForwardAnswer {
    if (message.closes == 0) return owner.Forward(message.opens);
    owner.CloseForward(message.closes);
    return {};
  };
  if (message.run != 0) {
    const auto run = runs_.find(message.run);
    return run == runs_.end() ? ForwardAnswer() : serve(*run->second);
  }
  const auto session = sessions_.find(message.session);
  return session == sessions_.end() ? ForwardAnswer() : serve(*session->second);
}

void Supervisor::ServePath(const PathRequest& request) {
  std::erase_if(looked_at_, [](const auto& looked_at) { return looked_at.second.expired(); });
  std::weak_ptr<const std::string>& known = looked_at_[request.path];
  auto path = known.lock();
  if (!path) known = path = std::make_shared<const std::string>(request.path);
  files_.Do(
      path.get(), [path] { LookAtPath(*path); },
      [this, path, id = request.request](const std::optional<Error>& unanswered) {
        listener_->OnPath(id, unanswered);
      });
}

void Supervisor::BeginClose() {
  if (closing_) return;
  closing_ = true;
  ports_.EndAll();
  for (const Job& job : lanes_.WithdrawAll())
    CancelWaiting(job, true);
  const auto runs = runs_;  // a copy: aborting a run may remove it
  for (const auto& [id, run] : runs)
    run->Abort();
  pools_.CloseAll();
  const auto sessions = sessions_;  // a copy: closing a session may remove it
  for (const auto& [id, session] : sessions)
    session->Close(kShuttingDown);
  // Last: all that wait for a program or for the host's files have been cancelled by now.
  shared_.programs->Close();
  files_.Close();
  CloseLoopIfDone();
}

void Supervisor::CloseLoopIfDone() {
  if (!runs_.empty() || !pools_.empty() || !sessions_.empty() || queue_.is_closing()) return;
  queue_.Close();  // the loop ends when its last handle closes
}

}  // namespace native_runner
