#pragma once

#include <napi.h>

#include <string>

#include "addon/values/cached_strings.h"
#include "addon/values/value_builder.h"
#include "supervise/preparation/run_result.h"

namespace native_runner {

// Makes a run's result as the contract's NativeExecResult: JavaScript's makeResult
// (types/addon.d.ts) gets the parts, large outputs without being copied. One a Node environment,
// JavaScript thread.
class ResultMaker {
 public:
  void set_make_result(const Napi::Function& make) { make_ = Napi::Persistent(make); }

  // Whole only if builder.ok() afterwards.
  napi_value Make(ValueBuilder& builder, RunResult result, const std::string& policy_hash);

 private:
  Napi::FunctionReference make_;
  CachedStrings options_;
  CachedStrings layers_;
};

}  // namespace native_runner
