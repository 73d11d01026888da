#pragma once

#include <napi.h>

#include <span>
#include <string>
#include <vector>

#include "addon/values/value_builder.h"
#include "policy/network/connections.h"
#include "supervise/preparation/run_result.h"

namespace native_runner {

// A JavaScript array of strings that is made anew only when they are others than the last time: a
// runner's options are the same in each of its audits. Who gets the array must not change it.
// JavaScript thread.
class CachedStrings {
 public:
  napi_value Get(ValueBuilder& builder, std::span<const std::string> strings);

 private:
  std::vector<std::string> strings_;
  Napi::ObjectReference array_;
};

// An entry of an audit's `connections` (types/network.d.ts). Whole only if builder.ok() afterwards.
napi_value MakeConnection(ValueBuilder& builder, const ConnectionRecord& record);

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
