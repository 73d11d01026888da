#pragma once

#include <napi.h>

#include <optional>

#include "policy/result.h"

namespace native_runner {

// Collects what is wrong with what one call was given, and throws it into JavaScript when it goes:
// an unknown field before anything else, since it explains why another is missing; else the first
// fault. A caller asks failed() once, when all was read. An exception that a getter of the caller's
// throws is a fault too. JavaScript thread.
class Reader {
 public:
  explicit Reader(Napi::Env env) : env_(env) {}
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  Napi::Env env() const { return env_; }
  bool failed() const { return lost_ || fault_.has_value(); }
  void Fail(const Error& error);
  void FailIf(const std::optional<Error>& error) {
    if (error) Fail(*error);
  }
  // Takes the place of another kind of fault.
  void FailUnknownField(const Error& error);

  // Whether nothing can be read any more: a getter threw, or the environment is being terminated.
  bool lost() const { return lost_; }
  bool Lost(const Napi::Value& value);

 private:
  Napi::Env env_;
  std::optional<Error> fault_;
  bool is_unknown_field_ = false;
  bool lost_ = false;
};

}  // namespace native_runner
