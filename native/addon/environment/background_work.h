#pragma once

#include <napi.h>

#include <cstdint>
#include <functional>
#include <memory>

#include "addon/values/value_builder.h"
#include "policy/result.h"

namespace native_runner {

// Makes the value of what was done, on the JavaScript thread.
using MakeValue = std::function<napi_value(ValueBuilder& builder)>;

// A promise of what `work` comes to, which is done on a thread of libuv's pool: it may block, and
// must touch no value of JavaScript's. Rejected with its error. nullptr with an exception pending
// where none can be begun. An environment that goes away waits for it.
napi_value DoInBackground(napi_env env, std::function<Result<MakeValue>()> work);

// A function of JavaScript's that other threads tell how far something is: it is called later, on
// the JavaScript thread, with { files, bytes }. Telling waits for nothing; what comes while calls
// are waiting is dropped. Keeps no process alive. Made and let go on the JavaScript thread.
class ProgressCalls {
 public:
  // nullptr with an exception pending where it can't be had. `function` must not throw.
  static std::shared_ptr<ProgressCalls> Make(Napi::Env env, const Napi::Function& function);
  ~ProgressCalls();
  ProgressCalls(const ProgressCalls&) = delete;
  ProgressCalls& operator=(const ProgressCalls&) = delete;

  // Any thread.
  void Tell(std::uint64_t files, std::uint64_t bytes) const;

 private:
  explicit ProgressCalls(napi_threadsafe_function function) : function_(function) {}

  napi_threadsafe_function function_;
};

}  // namespace native_runner
