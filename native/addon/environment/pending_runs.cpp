#include "addon/environment/pending_runs.h"

#include <array>
#include <utility>

#include "addon/values/connection_value.h"
#include "addon/values/js_error.h"

namespace native_runner {
namespace {

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

const char* RecordEventName(SandboxNetwork::RecordEvent event) {
  switch (event) {
    case SandboxNetwork::RecordEvent::kOpened:
      return "opened";
    case SandboxNetwork::RecordEvent::kEnded:
      return "ended";
    case SandboxNetwork::RecordEvent::kDenied:
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

void PendingRuns::Deliver(const news::Chunk& chunk) {
  const auto found = runs_.find(chunk.run);
  if (found == runs_.end()) return;
  const auto& callback =
      chunk.stream == Stream::kStdout ? found->second.on_stdout : found->second.on_stderr;
  if (callback.IsEmpty()) return;
  const Napi::HandleScope handles(env_);
  ValueBuilder builder(env_);
  Call(builder, callback, builder.CopiedBytes(chunk.bytes.data(), chunk.bytes.size()));
}

void PendingRuns::Deliver(const news::Event& event) {
  const auto found = runs_.find(event.run);
  if (found == runs_.end() || found->second.on_event.IsEmpty()) return;
  const Napi::HandleScope handles(env_);
  ValueBuilder builder(env_);
  Call(builder, found->second.on_event, builder.String(LiveEventName(event.event)));
}

void PendingRuns::Deliver(const news::Connection& connection) {
  const auto found = runs_.find(connection.run);
  if (found == runs_.end() || found->second.on_connection.IsEmpty()) return;
  const Napi::HandleScope handles(env_);
  ValueBuilder builder(env_);
  const std::array arguments = {builder.Number(static_cast<double>(connection.run)),
                                builder.String(RecordEventName(connection.event)),
                                MakeConnection(builder, connection.record)};
  builder.CallBack(found->second.on_connection.Value(), arguments);
}

void PendingRuns::Deliver(news::Ended ended) {
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
  // Not ok: the worker is being terminated, nobody waits any more.
  if (builder.ok()) napi_resolve_deferred(env_, run.deferred, result);
}

void PendingRuns::Call(ValueBuilder& builder, const Napi::FunctionReference& callback,
                       napi_value argument) {
  const std::array arguments = {argument};
  builder.CallBack(callback.Value(), arguments);
}

}  // namespace native_runner
