#include "addon/environment/pending.h"

#include <algorithm>
#include <array>
#include <utility>

namespace native_runner {
namespace {

// Names as in types/addon.d.ts.
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

const char* RecordEventName(RecordEvent event) {
  switch (event) {
    case RecordEvent::kOpened:
      return "opened";
    case RecordEvent::kEnded:
      return "ended";
    case RecordEvent::kDenied:
      return "refused";
  }
  return "";
}

}  // namespace

std::uint64_t PendingRuns::Add(PendingRun run) {
  const std::uint64_t number = ++last_run_;
  runs_.emplace(number, std::move(run));
  return number;
}

void PendingRuns::Deliver(const events::Chunk& chunk) {
  const auto found = runs_.find(chunk.run);
  if (found == runs_.end()) return;
  const auto& callback =
      chunk.stream == Stream::kStdout ? found->second.on_stdout : found->second.on_stderr;
  if (callback.IsEmpty()) return;
  const Napi::HandleScope handles(env_);
  ValueBuilder builder(env_);
  Call(builder, callback, builder.CopiedBytes(chunk.bytes.data(), chunk.bytes.size()));
}

void PendingRuns::Deliver(const events::Event& event) {
  const auto found = runs_.find(event.run);
  if (found == runs_.end() || found->second.on_event.IsEmpty()) return;
  const Napi::HandleScope handles(env_);
  ValueBuilder builder(env_);
  Call(builder, found->second.on_event, builder.String(LiveEventName(event.event)));
}

void PendingRuns::Deliver(const events::Connection& connection) {
  const auto found = runs_.find(connection.run);
  if (found == runs_.end() || found->second.on_connection.IsEmpty()) return;
  const Napi::HandleScope handles(env_);
  ValueBuilder builder(env_);
  const std::array arguments = {builder.Number(static_cast<double>(connection.run)),
                                builder.String(RecordEventName(connection.event)),
                                MakeConnection(builder, connection.record)};
  builder.CallBack(found->second.on_connection.Value(), arguments);
}

void PendingRuns::Deliver(events::Ended ended) {
  const auto found = runs_.find(ended.run);
  if (found == runs_.end()) return;
  const Napi::HandleScope handles(env_);
  const PendingRun run = std::move(found->second);
  runs_.erase(found);
  if (ended.result.rejection) {
    napi_reject_deferred(env_, run.deferred, MakeJsError(env_, *ended.result.rejection));
    return;
  }
  ValueBuilder builder(env_);
  napi_value result = results_.Make(builder, std::move(ended.result), run.policy_hash);
  // Not ok: the worker is being terminated, and nothing waits for the result.
  if (builder.ok()) napi_resolve_deferred(env_, run.deferred, result);
}

void PendingRuns::Call(ValueBuilder& builder, const Napi::FunctionReference& callback,
                       napi_value argument) {
  const std::array arguments = {argument};
  builder.CallBack(callback.Value(), arguments);
}

void PendingSessions::Add(std::uint64_t session, SessionPromises promises) {
  sessions_.emplace(session, Session{promises});
}

bool PendingSessions::BeginClose(std::uint64_t session) {
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) return false;
  found->second.keeps_alive = true;
  return true;
}

bool PendingSessions::keep_alive() const {
  return std::any_of(sessions_.begin(), sessions_.end(),
                     [](const auto& session) { return session.second.keeps_alive; });
}

void PendingSessions::Deliver(const events::SessionOpen& open) {
  const auto found = sessions_.find(open.session);
  if (found == sessions_.end()) return;
  const Napi::HandleScope handles(env_);
  const SessionPromises promises = found->second.promises;
  found->second.keeps_alive = false;
  ValueBuilder builder(env_);
  if (!open.layers) {
    sessions_.erase(found);
    napi_reject_deferred(env_, promises.opened, MakeJsError(env_, open.layers.error()));
    // The session never existed, but a promise that is never settled would be a leak.
    napi_resolve_deferred(env_, promises.ended, builder.Undefined());
    return;
  }
  napi_value layers = builder.Strings(open.layers.value().Names());
  if (builder.ok()) napi_resolve_deferred(env_, promises.opened, layers);
}

void PendingSessions::Deliver(const events::SessionGone& gone) {
  const auto found = sessions_.find(gone.session);
  if (found == sessions_.end()) return;
  const Napi::HandleScope handles(env_);
  napi_deferred ended = found->second.promises.ended;
  sessions_.erase(found);
  ValueBuilder builder(env_);
  napi_value reason = builder.String(gone.reason);
  if (builder.ok()) napi_resolve_deferred(env_, ended, reason);
}

std::uint64_t PendingPoolRequests::Add(napi_deferred deferred) {
  const std::uint64_t number = ++last_request_;
  if (deferred != nullptr) requests_.emplace(number, deferred);
  return number;
}

void PendingPoolRequests::Deliver(const events::PoolAnswer& answer) {
  const auto found = requests_.find(answer.request);
  if (found == requests_.end()) return;
  const Napi::HandleScope handles(env_);
  napi_deferred deferred = found->second;
  requests_.erase(found);
  if (!answer.prewarmed) {
    napi_reject_deferred(env_, deferred, MakeJsError(env_, answer.prewarmed.error()));
    return;
  }
  ValueBuilder builder(env_);
  napi_value count = builder.Number(static_cast<double>(answer.prewarmed.value()));
  if (builder.ok()) napi_resolve_deferred(env_, deferred, count);
}

namespace {

// Names as in types/addon.d.ts.
const char* PortStateName(PortState state) {
  switch (state) {
    case PortState::kSilent:
      break;  // does not end a wait
    case PortState::kListening:
      return "listening";
    case PortState::kTimedOut:
      return "timed-out";
    case PortState::kStopped:
      return "stopped";
    case PortState::kGone:
      return "gone";
    case PortState::kNoSockets:
      return "no-sockets";
    case PortState::kUnreadable:
      return "unreadable";
  }
  return "";
}

}  // namespace

std::uint64_t PendingPortWaits::Add(napi_deferred deferred) {
  waits_.emplace(++last_wait_, deferred);
  return last_wait_;
}

void PendingPortWaits::Deliver(const events::PortAnswer& answer) {
  const auto found = waits_.find(answer.wait);
  if (found == waits_.end()) return;
  const Napi::HandleScope handles(env_);
  napi_deferred deferred = found->second;
  waits_.erase(found);
  ValueBuilder builder(env_);
  napi_value state = builder.String(PortStateName(answer.state));
  if (builder.ok()) napi_resolve_deferred(env_, deferred, state);
}

namespace {

const char* ForwardStateName(ForwardState state) {
  switch (state) {
    case ForwardState::kOpen:
      return "open";
    case ForwardState::kGone:
      return "gone";
    case ForwardState::kNoSockets:
      return "no-sockets";
    case ForwardState::kOwnPort:
      return "own-port";
    case ForwardState::kLoop:
      return "loop";
    case ForwardState::kTooMany:
      return "too-many";
    case ForwardState::kPortTaken:
      return "port-taken";
    case ForwardState::kFailed:
      return "failed";
  }
  return "";
}

}  // namespace

std::uint64_t PendingForwards::Add(napi_deferred deferred) {
  requests_.emplace(++last_request_, deferred);
  return last_request_;
}

void PendingForwards::Settle(Napi::Env env, napi_deferred deferred, const ForwardAnswer& answer) {
  ValueBuilder builder(env);
  napi_value made = builder.Object();
  builder.Set(made, "state", builder.String(ForwardStateName(answer.state)));
  builder.Set(made, "number", builder.Number(static_cast<double>(answer.number)));
  builder.Set(made, "hostPort", builder.Number(answer.host_port));
  builder.Set(made, "errno", builder.Number(answer.error));
  if (builder.ok()) napi_resolve_deferred(env, deferred, made);
}

void PendingForwards::Deliver(const events::ForwardDone& done) {
  const auto found = requests_.find(done.request);
  if (found == requests_.end()) return;
  const Napi::HandleScope handles(env_);
  napi_deferred deferred = found->second;
  requests_.erase(found);
  Settle(env_, deferred, done.answer);
}

std::uint64_t PendingPaths::Add(napi_deferred deferred) {
  requests_.emplace(++last_request_, deferred);
  return last_request_;
}

void PendingPaths::Deliver(const events::PathAnswer& answer) {
  const auto found = requests_.find(answer.request);
  if (found == requests_.end()) return;
  const Napi::HandleScope handles(env_);
  napi_deferred deferred = found->second;
  requests_.erase(found);
  if (answer.unanswered) {
    napi_reject_deferred(env_, deferred, MakeJsError(env_, *answer.unanswered));
    return;
  }
  napi_resolve_deferred(env_, deferred, env_.Undefined());
}

std::uint64_t NetworkAskers::Add(Napi::Object handle, const Napi::Function& on_request) {
  handle.DefineProperty(Napi::PropertyDescriptor::Value("onRequest", on_request));
  askers_.emplace(++last_asker_, Napi::Weak(on_request));
  return last_asker_;
}

void NetworkAskers::Clear() {
  askers_.clear();
  asked_.clear();
}

bool NetworkAskers::Deliver(events::Question question) {
  const Napi::HandleScope handles(env_);
  ValueBuilder builder(env_);
  napi_value what = builder.Object();
  builder.Set(what, "host", builder.String(question.what.host));
  builder.Set(what, "port", builder.Number(question.what.port));
  builder.Set(what, "via", builder.String(ConnectionViaName(question.what.via)));
  if (!question.what.argv.empty()) {
    builder.Set(what, "command", builder.Strings(question.what.argv));
  }
  if (!builder.ok()) return false;
  asked_.emplace(question.question, question.asker);
  return Call(builder, question.asker, question.question, what);
}

void NetworkAskers::Deliver(const events::QuestionGone& gone) {
  const auto found = asked_.find(gone.question);
  if (found == asked_.end()) return;
  const std::uint64_t asker = found->second;
  asked_.erase(found);
  const Napi::HandleScope handles(env_);
  ValueBuilder builder(env_);
  Call(builder, asker, gone.question, builder.Undefined());
}

bool NetworkAskers::Call(ValueBuilder& builder, std::uint64_t asker, std::uint64_t question,
                         napi_value what) {
  const auto found = askers_.find(asker);
  if (found == askers_.end()) return false;
  const Napi::Function on_request = found->second.Value();
  if (on_request.IsEmpty()) return false;  // its runner was garbage-collected
  const std::array arguments = {builder.Number(static_cast<double>(question)), what};
  return builder.ok() && builder.CallBack(on_request, arguments);
}

}  // namespace native_runner
