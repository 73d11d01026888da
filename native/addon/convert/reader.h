#pragma once

#include <napi.h>

#include <optional>

#include "policy/result.h"

namespace native_runner {

// Remembers the first fault of what one call was given, and throws it into JavaScript. After that
// the fields of every object read for it are absent, so a caller asks failed() once, at the end. An
// exception that a getter of the caller's throws counts as a fault. JavaScript thread.
class Reader {
 public:
  explicit Reader(Napi::Env env) : env_(env) {}
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  Napi::Env env() const { return env_; }
  bool failed() const { return failed_; }
  void Fail(const Error& error);
  void FailIf(const std::optional<Error>& error) {
    if (error) Fail(*error);
  }

  // Whether there is no value to look at: a getter threw, or the environment is being terminated.
  bool Lost(const Napi::Value& value);

 private:
  Napi::Env env_;
  bool failed_ = false;
};

}  // namespace native_runner
