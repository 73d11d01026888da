#pragma once

#include <napi.h>

#include <span>
#include <string>
#include <vector>

#include "addon/values/value_builder.h"
#include "policy/network/network_rules.h"
#include "supervise/preparation/run_result.h"

namespace native_runner {

// A JavaScript array of strings that is made again only if they differ from the last ones: a
// runner's options are the same in each of its audits. The receiver of the array must not change
// it. JavaScript thread.
class CachedStrings {
 public:
  napi_value Get(ValueBuilder& builder, std::span<const std::string> strings);

 private:
  std::vector<std::string> strings_;
  Napi::ObjectReference array_;
};

// Makes an entry of an audit's `connections` (types/network.d.ts). Complete only if builder.ok()
// afterwards.
napi_value MakeConnection(ValueBuilder& builder, const ConnectionRecord& record);

// Makes the names of NativeReport's fields (types/addon.d.ts), in the order in which JavaScript's
// makeResult receives their values. Complete only if builder.ok() afterwards.
napi_value ReportFieldNames(ValueBuilder& builder);

// Makes a run's result as the contract's NativeExecResult: JavaScript's makeResult
// (types/addon.d.ts) receives the values of a NativeReport, large outputs without a copy. One per
// Node environment. JavaScript thread.
class ResultMaker {
 public:
  void set_make_result(const Napi::Function& make) { make_ = Napi::Persistent(make); }

  // Complete only if builder.ok() afterwards.
  napi_value Make(ValueBuilder& builder, RunResult result, const std::string& policy_hash);

 private:
  Napi::FunctionReference make_;
  CachedStrings options_;
  CachedStrings layers_;
};

}  // namespace native_runner
