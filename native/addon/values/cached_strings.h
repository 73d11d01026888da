#pragma once

#include <napi.h>

#include <span>
#include <string>
#include <vector>

#include "addon/values/value_builder.h"

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

}  // namespace native_runner
