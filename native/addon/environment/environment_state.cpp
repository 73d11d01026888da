#include "addon/environment/environment_state.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "addon/values/value_builder.h"
#include "supervise/network/tunnel.h"

namespace native_runner {
namespace {

// Enough to keep all processors busy with commands that wait, few enough not to exhaust the host.
std::size_t DefaultLaneWidth() {
  return std::max<std::size_t>(8, 4 * uv_available_parallelism());
}

}  // namespace

std::string EnvironmentState::SearchPath() {
  const char* path = std::getenv("PATH");  // JavaScript thread, as JavaScript may change it
  return path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path;
}

EnvironmentState* EnvironmentState::Create(Napi::Env env) {
  auto* state = new EnvironmentState(env);
  if (!state->event_queue_.Open(env, [state] { state->TakeEvents(); })) {
    delete state;
    ThrowJsError(env, {ErrorCode::kSetup, "cannot be woken on the JavaScript thread", ""});
    return nullptr;
  }
  // Added after the event queue's own hook, so that its function still exists then: the last hook
  // is called first.
  napi_add_env_cleanup_hook(
      env, [](void* self) { static_cast<EnvironmentState*>(self)->TearDown(); }, state);
  return state;
}

bool EnvironmentState::StartSupervisor() {
  if (tearing_down_) return false;
  if (supervisor_) return true;
  auto started = Supervisor::Start({launcher_path_, SearchPath(), &event_queue_});
  if (!started) {
    ThrowJsError(env_, started.error());
    return false;
  }
  supervisor_ = std::move(*started);
  default_lane_width_ = DefaultLaneWidth();
  return true;
}

std::optional<std::uint64_t> EnvironmentState::Submit(Submission submission, PendingRun pending) {
  if (!StartSupervisor()) return std::nullopt;
  const std::uint64_t run = runs_.Add(std::move(pending));
  KeepAliveWhilePending();
  const Lane lane = submission.lane;
  const std::size_t width = lane.width == 0 ? default_lane_width_ : lane.width;
  supervisor_->Submit(Supervisor::Job{run, lane.number, width, std::move(submission.runtime),
                                      std::move(submission.request), std::move(submission.pool)});
  return run;
}

void EnvironmentState::RequestPool(Supervisor::PoolRequest request, napi_deferred deferred) {
  if (tearing_down_) return;
  if (request.closes && !supervisor_) {  // no sandbox was ever made
    if (deferred != nullptr) napi_resolve_deferred(env_, deferred, Napi::Number::New(env_, 0));
    return;
  }
  if (!StartSupervisor()) return;
  request.request = pool_requests_.Add(deferred);
  KeepAliveWhilePending();
  supervisor_->Submit(std::move(request));
}

bool EnvironmentState::OpenSession(std::uint64_t session,
                                   std::shared_ptr<const SessionOpener> opener, std::uint64_t from,
                                   SessionPromises promises) {
  if (!StartSupervisor()) return false;
  sessions_.Add(session, promises);
  KeepAliveWhilePending();
  supervisor_->OpenSession(session, std::move(opener), from);
  return true;
}

void EnvironmentState::CloseSession(std::uint64_t session) {
  if (tearing_down_ || !sessions_.BeginClose(session)) return;
  KeepAliveWhilePending();
  supervisor_->CloseSession(session);
}

void EnvironmentState::Abort(std::uint64_t run) {
  if (supervisor_ && !tearing_down_) supervisor_->Abort(run);
}

void EnvironmentState::Apply(std::uint64_t run, LiveAction action) {
  if (supervisor_ && !tearing_down_) supervisor_->Apply(run, std::move(action));
}

void EnvironmentState::ReportRenewed(std::shared_ptr<const Lease> lease) {
  if (supervisor_ && !tearing_down_) supervisor_->ReportRenewed(std::move(lease));
}

std::optional<std::uint64_t> EnvironmentState::Submit(PortWait wait, napi_deferred deferred) {
  if (!supervisor_ || tearing_down_) return std::nullopt;
  wait.id = port_waits_.Add(deferred);
  KeepAliveWhilePending();
  supervisor_->Submit(wait);
  return wait.id;
}

void EnvironmentState::Submit(Supervisor::ForwardMessage message, napi_deferred deferred) {
  if (!supervisor_ || tearing_down_) return PendingForwards::Settle(env_, deferred, {});
  message.request = forwards_.Add(deferred);
  KeepAliveWhilePending();
  supervisor_->Submit(message);
}

bool EnvironmentState::AwaitAnswer(std::string path, napi_deferred deferred) {
  if (!StartSupervisor()) return false;
  const std::uint64_t request = paths_.Add(deferred);
  KeepAliveWhilePending();
  supervisor_->Submit(Supervisor::PathRequest{request, std::move(path)});
  return true;
}

void EnvironmentState::StopWait(std::uint64_t wait) {
  if (supervisor_ && !tearing_down_) supervisor_->StopWait(wait);
}

void EnvironmentState::Answer(std::uint64_t question, NetworkAnswer answer) {
  askers_.Forget(question);
  if (supervisor_ && !tearing_down_) supervisor_->Answer(question, answer);
}

void EnvironmentState::AbortAndWait(std::uint64_t run) {
  constexpr int kBoundMs = 2000;
  Abort(run);
  for (int waited = 0; waited < kBoundMs; ++waited) {
    if (!runs_.Contains(run) || event_queue_.HasEndOf(run)) return;
    uv_sleep(1);
  }
}

void EnvironmentState::TakeEvents() {
  const Napi::HandleScope handles(env_);
  for (events::Item& item : event_queue_.Take())
    Deliver(std::move(item));
}

void EnvironmentState::Deliver(events::Item item) {
  std::visit(
      [this]<typename Event>(Event& event) {
        if constexpr (std::is_same_v<Event, events::PoolAnswer>) {
          pool_requests_.Deliver(event);
        } else if constexpr (std::is_same_v<Event, events::PortAnswer>) {
          port_waits_.Deliver(event);
        } else if constexpr (std::is_same_v<Event, events::ForwardDone>) {
          forwards_.Deliver(event);
        } else if constexpr (std::is_same_v<Event, events::PathAnswer>) {
          paths_.Deliver(event);
        } else if constexpr (std::is_same_v<Event, events::SessionOpen> ||
                             std::is_same_v<Event, events::SessionGone>) {
          sessions_.Deliver(event);
        } else if constexpr (std::is_same_v<Event, events::Question>) {
          const std::uint64_t question = event.question;
          if (!askers_.Deliver(std::move(event))) Answer(question, NetworkAnswer::kNone);
        } else if constexpr (std::is_same_v<Event, events::QuestionGone>) {
          askers_.Deliver(event);
        } else {
          runs_.Deliver(std::move(event));
        }
      },
      item);
  KeepAliveWhilePending();
}

void EnvironmentState::KeepAliveWhilePending() {
  if (tearing_down_) return;
  event_queue_.KeepAlive(!runs_.empty() || !pool_requests_.empty() || !port_waits_.empty() ||
                         !forwards_.empty() || !paths_.empty() || sessions_.keep_alive());
}

Result<std::pair<int, Descriptor>> EnvironmentState::OpenTerminator() {
  TRY_ASSIGN(TerminatorEnds ends, MakeTerminatorChannel());
  if (!terminator_.valid()) {
    terminator_ = std::move(ends.ours);
  } else if (dup3(ends.ours.get(), terminator_.get(), O_CLOEXEC) < 0) {
    return SystemError("dup3", errno);
  }
  return std::pair(terminator_.get(), std::move(ends.theirs));
}

void EnvironmentState::TearDown() {
  tearing_down_ = true;
  *back_reference_ = nullptr;
  runs_.Clear();
  pool_requests_.Clear();
  port_waits_.Clear();
  forwards_.Clear();
  paths_.Clear();
  sessions_.Clear();
  askers_.Clear();
  event_queue_.Silence();  // JavaScript can't run any more
  if (supervisor_) {
    supervisor_->Close();
    supervisor_.reset();  // joins the thread, which ends once every run's end is proved
  }
  event_queue_.Close();
  delete this;
}

}  // namespace native_runner
