#include "addon/environment/environment_state.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "addon/values/js_error.h"

namespace native_runner {
namespace {

// Enough to keep all processors busy with commands that wait, few enough not to exhaust the host.
std::size_t DefaultLaneWidth() {
  return std::max<std::size_t>(8, 4 * uv_available_parallelism());
}

// As types/addon.d.ts has them.
const char* LiveEventName(LiveEvent event) {
  switch (event) {
    case LiveEvent::kStarted:
      return "started";
    case LiveEvent::kInputTaken:
      return "input-taken";
    case LiveEvent::kInputClosed:
      return "input-closed";
  }
  return "";
}

}  // namespace

std::string EnvironmentState::SearchPath() {
  const char* path = std::getenv("PATH");  // on the JavaScript thread, which may change it
  return path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path;
}

EnvironmentState* EnvironmentState::Create(Napi::Env env) {
  uv_loop_t* loop = nullptr;
  auto* state = new EnvironmentState(env);
  if (napi_get_uv_event_loop(env, &loop) != napi_ok ||
      uv_async_init(loop, &state->wake_, [](uv_async_t* wake) {
        static_cast<EnvironmentState*>(wake->data)->Deliver();
      }) != 0) {
    delete state;
    ThrowJsError(env, {ErrorCode::kSetup, "cannot use Node's event loop", ""});
    return nullptr;
  }
  state->wake_.data = state;
  uv_unref(reinterpret_cast<uv_handle_t*>(&state->wake_));
  state->context_ = std::make_unique<Napi::AsyncContext>(env, "native-runner");
  napi_add_async_cleanup_hook(
      env,
      [](napi_async_cleanup_hook_handle, void* self) {
        static_cast<EnvironmentState*>(self)->BeginTeardown();
      },
      state, &state->hook_);
  return state;
}

bool EnvironmentState::StartSupervisor() {
  if (supervisor_) return true;
  auto started = Supervisor::Start({launcher_path_, SearchPath(), this});
  if (!started) {
    ThrowJsError(env_, started.error());
    return false;
  }
  supervisor_ = std::move(*started);
  default_lane_width_ = DefaultLaneWidth();
  return true;
}

std::uint64_t EnvironmentState::Submit(Submission submission, Waiting waiting) {
  if (tearing_down_ || !StartSupervisor()) return 0;
  const std::uint64_t run = ++last_run_;
  waiting_.emplace(run, std::move(waiting));
  KeepAliveWhileWaiting();
  const std::size_t width =
      submission.lane_width == 0 ? default_lane_width_ : submission.lane_width;
  supervisor_->Submit(Supervisor::Job{run, submission.lane, width, std::move(submission.runtime),
                                      std::move(submission.request), std::move(submission.pool)});
  return run;
}

void EnvironmentState::RequestPool(Supervisor::PoolRequest request, napi_deferred deferred) {
  if (tearing_down_) return;
  if (request.closes && !supervisor_) {  // nothing was ever made
    if (deferred != nullptr) napi_resolve_deferred(env_, deferred, Napi::Number::New(env_, 0));
    return;
  }
  if (!StartSupervisor()) return;
  request.request = ++last_pool_request_;
  if (deferred != nullptr) pool_requests_.emplace(request.request, deferred);
  KeepAliveWhileWaiting();
  supervisor_->Submit(std::move(request));
}

bool EnvironmentState::OpenSession(std::uint64_t session,
                                   std::shared_ptr<const SessionRuntime> runtime,
                                   SessionPromises promises) {
  if (tearing_down_ || !StartSupervisor()) return false;
  sessions_.emplace(session, WaitingSession{promises});
  KeepAliveWhileWaiting();
  supervisor_->OpenSession(session, std::move(runtime));
  return true;
}

void EnvironmentState::CloseSession(std::uint64_t session, bool waits) {
  const auto found = sessions_.find(session);
  if (tearing_down_ || found == sessions_.end()) return;
  found->second.keeps_alive |= waits;
  KeepAliveWhileWaiting();
  supervisor_->CloseSession(session);
}

void EnvironmentState::Abort(std::uint64_t run) {
  if (supervisor_ && !tearing_down_) supervisor_->Abort(run);
}

void EnvironmentState::Apply(std::uint64_t run, LiveAction action) {
  if (supervisor_ && !tearing_down_) supervisor_->Apply(run, std::move(action));
}

void EnvironmentState::AbortAndWait(std::uint64_t run) {
  constexpr int kBoundMs = 2000;
  Abort(run);
  for (int waited = 0; waited < kBoundMs && !RunHasEnded(run); ++waited)
    uv_sleep(1);
}

bool EnvironmentState::RunHasEnded(std::uint64_t run) {
  if (!waiting_.contains(run)) return true;
  const std::lock_guard lock(mutex_);
  return std::any_of(news_.begin(), news_.end(), [run](const News& news) {
    const auto* ended = std::get_if<Ended>(&news);
    return ended != nullptr && ended->run == run;
  });
}

void EnvironmentState::OnChunk(std::uint64_t run, Stream stream, std::vector<std::uint8_t> bytes) {
  Post(Chunk{run, stream, std::move(bytes)});
}

void EnvironmentState::OnEvent(std::uint64_t run, LiveEvent event) {
  Post(Event{run, event});
}

void EnvironmentState::OnEnd(std::uint64_t run, RunResult result) {
  Post(Ended{run, std::move(result)});
}

void EnvironmentState::OnPool(std::uint64_t request, Result<std::size_t> standing) {
  Post(PoolAnswer{request, std::move(standing)});
}

void EnvironmentState::OnSessionOpen(std::uint64_t session, Result<LayerRecord> layers) {
  Post(SessionOpen{session, std::move(layers)});
}

void EnvironmentState::OnSessionGone(std::uint64_t session, const std::string& reason) {
  Post(SessionGone{session, reason});
}

void EnvironmentState::OnClosed() {
  Post(Closed{});
}

void EnvironmentState::Post(News news) {
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    news_.push_back(std::move(news));
    first = news_.size() == 1;
  }
  // Outside the lock, so that who is woken does not have to wait for it. The handle outlives the
  // supervisor, which is the one that calls.
  if (first) uv_async_send(&wake_);
}

void EnvironmentState::Deliver() {
  std::vector<News> news;
  {
    const std::lock_guard lock(mutex_);
    news.swap(news_);
  }
  if (tearing_down_) {  // JavaScript can't run any more
    const bool closed = std::any_of(news.begin(), news.end(), [](const News& item) {
      return std::holds_alternative<Closed>(item);
    });
    if (closed) EndTeardown();
    return;
  }
  const Napi::HandleScope handles(env_);
  napi_callback_scope scope = nullptr;  // runs what the promises resolve
  if (napi_open_callback_scope(env_, nullptr, *context_, &scope) != napi_ok) return;
  for (News& item : news) {
    if (const auto* chunk = std::get_if<Chunk>(&item)) DeliverChunk(*chunk);
    if (const auto* event = std::get_if<Event>(&item)) DeliverEvent(*event);
    if (auto* ended = std::get_if<Ended>(&item)) DeliverEnd(std::move(*ended));
    if (const auto* answer = std::get_if<PoolAnswer>(&item)) DeliverAnswer(*answer);
    if (const auto* open = std::get_if<SessionOpen>(&item)) DeliverOpen(*open);
    if (const auto* gone = std::get_if<SessionGone>(&item)) DeliverGone(*gone);
  }
  napi_close_callback_scope(env_, scope);
}

void EnvironmentState::DeliverChunk(const Chunk& chunk) {
  const auto found = waiting_.find(chunk.run);
  if (found == waiting_.end()) return;
  const auto& callback =
      chunk.stream == Stream::kStdout ? found->second.on_stdout : found->second.on_stderr;
  if (callback.IsEmpty()) return;
  const Napi::HandleScope handles(env_);
  ValueBuilder builder(env_);
  Call(builder, callback, builder.CopiedBytes(chunk.bytes.data(), chunk.bytes.size()));
}

void EnvironmentState::DeliverEvent(const Event& event) {
  const auto found = waiting_.find(event.run);
  if (found == waiting_.end() || found->second.on_event.IsEmpty()) return;
  const Napi::HandleScope handles(env_);
  ValueBuilder builder(env_);
  Call(builder, found->second.on_event, builder.String(LiveEventName(event.event)));
}

void EnvironmentState::Call(ValueBuilder& builder, const Napi::FunctionReference& callback,
                            napi_value argument) {
  napi_value receiver = builder.Null();
  if (!builder.ok()) return;
  const napi_status status =
      napi_call_function(env_, receiver, callback.Value(), 1, &argument, nullptr);
  napi_value thrown = nullptr;  // lib catches what callers throw: this would be a fault of ours
  bool pending = false;
  if (status != napi_ok && napi_is_exception_pending(env_, &pending) == napi_ok && pending &&
      napi_get_and_clear_last_exception(env_, &thrown) == napi_ok) {
    napi_fatal_exception(env_, thrown);
  }
}

void EnvironmentState::DeliverEnd(Ended ended) {
  const auto found = waiting_.find(ended.run);
  if (found == waiting_.end()) return;
  const Napi::HandleScope handles(env_);
  const Waiting waiting = std::move(found->second);
  waiting_.erase(found);
  KeepAliveWhileWaiting();
  if (ended.result.rejection) {
    napi_reject_deferred(env_, waiting.deferred, MakeJsError(env_, *ended.result.rejection));
    return;
  }
  ValueBuilder builder(env_);
  napi_value result = results_.Make(builder, std::move(ended.result), waiting.policy_hash);
  // Not ok: the worker is being terminated, nobody waits any more.
  if (builder.ok()) napi_resolve_deferred(env_, waiting.deferred, result);
}

void EnvironmentState::DeliverAnswer(const PoolAnswer& answer) {
  const auto found = pool_requests_.find(answer.request);
  if (found == pool_requests_.end()) return;
  const Napi::HandleScope handles(env_);
  napi_deferred deferred = found->second;
  pool_requests_.erase(found);
  KeepAliveWhileWaiting();
  if (!answer.standing) {
    napi_reject_deferred(env_, deferred, MakeJsError(env_, answer.standing.error()));
    return;
  }
  ValueBuilder builder(env_);
  napi_value count = builder.Number(static_cast<double>(answer.standing.value()));
  if (builder.ok()) napi_resolve_deferred(env_, deferred, count);
}

void EnvironmentState::DeliverOpen(const SessionOpen& open) {
  const auto found = sessions_.find(open.session);
  if (found == sessions_.end()) return;
  const Napi::HandleScope handles(env_);
  const SessionPromises promises = found->second.promises;
  found->second.keeps_alive = false;
  if (!open.layers) sessions_.erase(found);
  KeepAliveWhileWaiting();
  ValueBuilder builder(env_);
  if (!open.layers) {
    napi_reject_deferred(env_, promises.opened, MakeJsError(env_, open.layers.error()));
    // Nobody waits for the end of what never was; a promise that is never settled would be a leak.
    napi_resolve_deferred(env_, promises.ended, builder.Undefined());
    return;
  }
  napi_value layers = builder.Strings(open.layers.value().Names());
  if (builder.ok()) napi_resolve_deferred(env_, promises.opened, layers);
}

void EnvironmentState::DeliverGone(const SessionGone& gone) {
  const auto found = sessions_.find(gone.session);
  if (found == sessions_.end()) return;
  const Napi::HandleScope handles(env_);
  napi_deferred ended = found->second.promises.ended;
  sessions_.erase(found);
  KeepAliveWhileWaiting();
  ValueBuilder builder(env_);
  napi_value reason = builder.String(gone.reason);
  if (builder.ok()) napi_resolve_deferred(env_, ended, reason);
}

void EnvironmentState::KeepAliveWhileWaiting() {
  auto* handle = reinterpret_cast<uv_handle_t*>(&wake_);
  const bool session_waits =
      std::any_of(sessions_.begin(), sessions_.end(),
                  [](const auto& session) { return session.second.keeps_alive; });
  if (waiting_.empty() && pool_requests_.empty() && !session_waits) {
    uv_unref(handle);
  } else {
    uv_ref(handle);
  }
}

void EnvironmentState::BeginTeardown() {
  tearing_down_ = true;
  *tie_ = nullptr;
  waiting_.clear();
  pool_requests_.clear();
  sessions_.clear();
  context_.reset();
  uv_ref(reinterpret_cast<uv_handle_t*>(&wake_));
  if (supervisor_) {
    supervisor_->Close();
  } else {
    EndTeardown();
  }
}

void EnvironmentState::EndTeardown() {
  supervisor_.reset();  // joins the thread
  uv_close(reinterpret_cast<uv_handle_t*>(&wake_), [](uv_handle_t* handle) {
    auto* state = static_cast<EnvironmentState*>(handle->data);
    napi_remove_async_cleanup_hook(state->hook_);
    delete state;
  });
}

}  // namespace native_runner
