#pragma once

#include <napi.h>

#include <cstdint>
#include <functional>
#include <memory>

#include "addon/values/value_builder.h"
#include "policy/result.h"

namespace native_runner {

// Makes the value of finished work, on the JavaScript thread.
using MakeValue = std::function<napi_value(ValueBuilder& builder)>;

// Runs `work` on a thread of libuv's pool, and returns a promise of its value, rejected with its
// error. `work` may block, and must touch no JavaScript values. Returns nullptr with an exception
// pending if the work can't be started. A closing environment waits for it.
napi_value DoInBackground(napi_env env, std::function<Result<MakeValue>()> work);

// Reports progress from other threads to a JavaScript function: it is called later, on the
// JavaScript thread, with { files, bytes }. Report() never waits, and drops reports while too many
// calls are pending. Keeps no process alive. Made and destroyed on the JavaScript thread.
class ProgressCalls {
 public:
  // Returns nullptr with an exception pending on failure. `function` must not throw.
  static std::shared_ptr<ProgressCalls> Make(Napi::Env env, const Napi::Function& function);
  ~ProgressCalls();
  ProgressCalls(const ProgressCalls&) = delete;
  ProgressCalls& operator=(const ProgressCalls&) = delete;

  // Callable from any thread.
  void Report(std::uint64_t files, std::uint64_t bytes) const;

 private:
  explicit ProgressCalls(napi_threadsafe_function function) : function_(function) {}

  napi_threadsafe_function function_;
};

}  // namespace native_runner
