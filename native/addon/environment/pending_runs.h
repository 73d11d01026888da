#pragma once

#include <napi.h>

#include <cstdint>
#include <map>
#include <string>

#include "addon/environment/news.h"
#include "addon/values/result.h"

namespace native_runner {

// What JavaScript waits for with one run.
struct PendingRun {
  napi_deferred deferred = nullptr;
  Napi::FunctionReference on_stdout;
  Napi::FunctionReference on_stderr;
  Napi::FunctionReference on_event;  // of a live process
  Napi::FunctionReference on_connection;
  std::string policy_hash;
};

// The runs of one Node environment that have not settled: their output and events go to callbacks,
// their end settles a promise. News of a run that is not here are dropped. JavaScript thread.
class PendingRuns {
 public:
  explicit PendingRuns(Napi::Env env) : env_(env) {}

  // What makes an ended run's result; before the first run.
  void set_make_result(const Napi::Function& make) { results_.set_make_result(make); }

  // Returns the run's number, from 1 on.
  std::uint64_t Add(PendingRun run);
  bool Contains(std::uint64_t run) const { return runs_.contains(run); }
  bool empty() const { return runs_.empty(); }
  void Clear() { runs_.clear(); }

  void Deliver(const news::Chunk& chunk);
  void Deliver(const news::Event& event);
  void Deliver(const news::Connection& connection);
  void Deliver(news::Ended ended);

 private:
  void Call(ValueBuilder& builder, const Napi::FunctionReference& callback, napi_value argument);

  Napi::Env env_;
  ResultMaker results_;
  std::map<std::uint64_t, PendingRun> runs_;
  std::uint64_t last_run_ = 0;
};

}  // namespace native_runner
