#pragma once

#include <napi.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/result.h"
#include "supervise/streams/output_buffer.h"

namespace native_runner {

// Makes JavaScript values for what the supervisor reports. A worker may be terminated between any
// two calls, after which every call fails: the first failure is remembered, the rest do nothing,
// and whoever needs the whole asks ok() at the end. (node-addon-api aborts the process instead.)
// JavaScript thread, inside a handle scope.
class ValueBuilder {
 public:
  explicit ValueBuilder(napi_env env) : env_(env) {}

  napi_env env() const { return env_; }
  bool ok() const { return ok_; }

  napi_value Object();
  napi_value String(std::string_view text);
  napi_value Number(double number);
  napi_value Boolean(bool value);
  napi_value Null();
  napi_value Array(const std::vector<napi_value>& elements);
  napi_value Strings(std::span<const std::string> strings);
  napi_value Undefined();
  void Set(napi_value object, const char* key, napi_value value);
  napi_value Call(napi_value function, std::span<const napi_value> arguments);
  // Of a callback: lib catches what callers throw, so an exception would be a fault of ours, and is
  // an uncaught one. False where it could not be called to its end.
  bool CallBack(napi_value function, std::span<const napi_value> arguments);

  // A Uint8Array over a copy, or over `bytes` itself where those are large.
  napi_value CopiedBytes(const std::uint8_t* data, std::size_t size);
  napi_value TakenBytes(Bytes bytes);

 private:
  bool Check(napi_status status);
  napi_value View(napi_value buffer, std::size_t size);

  napi_env env_;
  bool ok_ = true;
};

// A JavaScript Error for ours: TypeError or RangeError for the caller's mistakes, a plain Error for
// the rest (lib turns those into SandboxError); `code` always, `fix` where one is known. nullptr
// when the environment is being terminated and can make no values any more.
napi_value MakeJsError(napi_env env, const Error& error);
void ThrowJsError(napi_env env, const Error& error);

// How a message shows a value that was not expected: `"text"`, `1.5`, `an object`, `null` ...
std::string Describe(const Napi::Value& value);

}  // namespace native_runner
