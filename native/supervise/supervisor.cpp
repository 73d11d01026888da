#include "supervise/supervisor.h"

#include <fcntl.h>

#include <algorithm>
#include <csignal>
#include <thread>
#include <utility>

namespace native_runner {
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
  auto null_device = OpenPath("/dev/null", O_RDWR);
  if (!null_device) return null_device.error();
  int failed = uv_loop_init(&made->loop_);
  if (failed != 0) return Error{ErrorCode::kSetup, uv_strerror(failed), ""};
  made->wake_.data = made.get();
  uv_async_init(&made->loop_, &made->wake_,
                [](uv_async_t* wake) { static_cast<Supervisor*>(wake->data)->OnMessages(); });
  made->shared_.loop = &made->loop_;
  made->shared_.launcher = std::move(*launcher);
  made->shared_.null_device = std::move(*null_device);
  made->shared_.programs = std::make_unique<Programs>(&made->loop_, made->shared_.null_device.get(),
                                                      options.search_path);
  made->shared_.cgroups = CgroupParent::Detect();
  failed = uv_thread_create(&made->thread_, Main, made.get());
  if (failed != 0) {
    uv_close(reinterpret_cast<uv_handle_t*>(&made->wake_), nullptr);
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
  // Signals are the host's business; SIGPIPE in particular must not end it.
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);  // per thread on Linux; pthread_sigmask needs glibc 2.32
  uv_run(&supervisor->loop_, UV_RUN_DEFAULT);
  uv_loop_close(&supervisor->loop_);
  supervisor->listener_->OnClosed();
}

void Supervisor::Submit(Job job) {
  job.request.submitted_ns = uv_hrtime();
  Post(std::move(job));
}
void Supervisor::Abort(std::uint64_t run) {
  Post(AbortRequest{run});
}
void Supervisor::Apply(std::uint64_t run, LiveAction action) {
  Post(LiveMessage{run, std::move(action)});
}
void Supervisor::Submit(PoolRequest request) {
  Post(std::move(request));
}
void Supervisor::OpenSession(std::uint64_t session, std::shared_ptr<const SessionRuntime> runtime) {
  Post(SessionRequest{session, std::move(runtime)});
}
void Supervisor::CloseSession(std::uint64_t session) {
  Post(SessionRequest{session, nullptr});
}
void Supervisor::Close() {
  Post(CloseRequest{});
}

void Supervisor::Post(Message message) {
  bool is_first = false;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    messages_.push_back(std::move(message));
    is_first = messages_.size() == 1;
    ++wakers_;  // the handle stays open until we have used it
  }
  // Outside the lock, so that the thread that is woken does not have to wait for it.
  if (is_first) uv_async_send(&wake_);
  --wakers_;
}

void Supervisor::OnMessages() {
  std::vector<Message> messages;
  {
    const std::lock_guard lock(mutex_);
    messages.swap(messages_);
  }
  for (Message& message : messages) {
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
    } else {
      BeginClose();
    }
  }
}

void Supervisor::Take(Job job) {
  if (closing_) return CancelWaiting(job, true);
  if (job.request.is_aborted) return CancelWaiting(job, false);
  if (job.request.live) return Begin(std::move(job));
  const std::uint64_t lane = job.lane;
  lanes_[lane].waiting.push_back(std::move(job));
  Fill(lane);
}

void Supervisor::Fill(std::uint64_t lane) {
  const auto found = lanes_.find(lane);
  if (found == lanes_.end()) return;
  Lane& here = found->second;
  filling_ = true;  // a run may end while it starts: the loop below then goes on with the next
  while (!here.waiting.empty() && here.in_flight < here.waiting.front().lane_width) {
    Job job = std::move(here.waiting.front());
    here.waiting.pop_front();
    ++here.in_flight;
    Begin(std::move(job));
  }
  filling_ = false;
  if (here.in_flight == 0 && here.waiting.empty()) lanes_.erase(found);
}

void Supervisor::Begin(Job job) {
  const std::uint64_t id = job.run;
  Run::Listener listener;
  const bool is_live = job.request.live.has_value();
  if (is_live || job.request.stream_stdout || job.request.stream_stderr) {
    listener.on_chunk = [this, id](Stream stream, const std::uint8_t* data, std::size_t size) {
      listener_->OnChunk(id, stream, {data, data + size});
    };
  }
  if (is_live) {
    listener.on_event = [this, id](LiveEvent event) { listener_->OnEvent(id, event); };
  }
  const PoolReference reference =
      job.request.plan_only || is_live ? PoolReference() : std::move(job.pool);
  const std::uint64_t pool = reference.number;
  const auto lane = is_live ? std::nullopt : std::optional(job.lane);
  listener.on_end = [this, id, lane, pool](RunResult result) {
    OnRunEnd(id, lane, pool, std::move(result));
  };
  listener.take = [this, pool](const Fingerprint& wanted) { return pools_.Take(pool, wanted); };
  job.request.may_stand = pools_.RunStarts(reference, job.runtime);
  auto run = std::make_shared<Run>(shared_, std::move(job.runtime), std::move(job.request),
                                   std::move(listener));
  runs_.emplace(id, run);
  run->Start();
}

void Supervisor::OnRunEnd(std::uint64_t run, std::optional<std::uint64_t> lane, std::uint64_t pool,
                          RunResult result) {
  runs_.erase(run);
  pools_.RunEnds(pool);
  if (lane) --lanes_[*lane].in_flight;
  listener_->OnEnd(run, std::move(result));
  if (closing_) {
    CloseLoopIfDone();
  } else if (lane && !filling_) {
    Fill(*lane);
  }
}

void Supervisor::AbortRun(std::uint64_t run) {
  if (const auto found = runs_.find(run); found != runs_.end()) {
    const std::shared_ptr<Run> kept = found->second;
    kept->Abort();
    return;
  }
  for (auto& [id, lane] : lanes_) {
    const auto job = std::find_if(lane.waiting.begin(), lane.waiting.end(),
                                  [run](const Job& waiting) { return waiting.run == run; });
    if (job == lane.waiting.end()) continue;
    CancelWaiting(*job, false);
    lane.waiting.erase(job);
    return;
  }
}

void Supervisor::CancelWaiting(const Job& job, bool closing) {
  RunResult result;
  if (closing) {
    result.rejection = Error{ErrorCode::kClosed, kShuttingDown, ""};
  }
  result.outcome = Aborted();
  result.timing = TimingOf({.submitted = job.request.submitted_ns, .ended = uv_hrtime()});
  result.record = job.runtime->Unprepared(job.request);
  listener_->OnEnd(job.run, std::move(result));
}

void Supervisor::ServePool(const PoolRequest& request) {
  const auto answer = [this, id = request.request](Result<std::size_t> standing) {
    listener_->OnPool(id, std::move(standing));
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
  const auto forget = [this, id] {
    sessions_.erase(id);
    if (closing_) CloseLoopIfDone();
  };
  const auto on_open = [this, id, forget](Result<std::vector<std::string>> layers) {
    const bool has_failed = !layers.ok();
    listener_->OnSessionOpen(id, std::move(layers));
    if (has_failed) forget();
  };
  const auto on_gone = [this, id, forget](const std::string& reason) {
    listener_->OnSessionGone(id, reason);
    forget();
  };
  const auto session = order.opens->Make(shared_, {on_open, on_gone});
  sessions_.emplace(id, session);
  session->Open();
}

void Supervisor::BeginClose() {
  if (closing_) return;
  closing_ = true;
  for (const auto& [id, lane] : lanes_) {
    for (const Job& job : lane.waiting)
      CancelWaiting(job, true);
  }
  for (auto& [id, lane] : lanes_)
    lane.waiting.clear();
  const auto runs = runs_;  // a copy: ending one may remove it
  for (const auto& [id, run] : runs)
    run->Abort();
  pools_.CloseAll();
  const auto sessions = sessions_;  // a copy, as above
  for (const auto& [id, session] : sessions)
    session->Close(kShuttingDown);
  shared_.programs->Close();  // last: who still waits for one knows by now that it is over
  CloseLoopIfDone();
}

void Supervisor::CloseLoopIfDone() {
  if (!runs_.empty() || !pools_.empty() || !sessions_.empty() ||
      uv_is_closing(reinterpret_cast<uv_handle_t*>(&wake_)) != 0)
    return;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  while (wakers_ != 0)
    std::this_thread::yield();  // for as long as one system call of theirs takes
  uv_close(reinterpret_cast<uv_handle_t*>(&wake_), nullptr);  // the loop ends with its last handle
}

}  // namespace native_runner
