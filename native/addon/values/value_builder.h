#pragma once

#include <napi.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/result.h"
#include "supervise/streams/output.h"

namespace native_runner {

// Makes JavaScript values of the supervisor's reports. A worker may be terminated between any two
// calls, after which every call fails: the first failure is remembered, the other calls do nothing,
// and code that needs the whole value checks ok() at the end. (node-addon-api aborts the process
// instead.) JavaScript thread, inside a handle scope.
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
  // Calls a callback. lib catches what callers throw, so an exception is an internal fault, and
  // becomes an uncaught one. False if the call did not run to its end.
  bool CallBack(napi_value function, std::span<const napi_value> arguments);

  // Make a Uint8Array over a copy, or over `bytes` itself if those are large.
  napi_value CopiedBytes(const std::uint8_t* data, std::size_t size);
  napi_value TakenBytes(Bytes bytes);

 private:
  bool Check(napi_status status);
  napi_value View(napi_value buffer, std::size_t size);

  napi_env env_;
  bool ok_ = true;
};

// Makes a JavaScript Error: TypeError or RangeError for the caller's mistakes, a plain Error for
// the rest (lib turns those into SandboxError). Has `code` always, `fix` if one is known. nullptr
// if the environment is being terminated and can make no more values.
napi_value MakeJsError(napi_env env, const Error& error);
void ThrowJsError(napi_env env, const Error& error);

// Describes an unexpected value for a message: `"text"`, `1.5`, `an object`, `null` ...
std::string Describe(const Napi::Value& value);

}  // namespace native_runner
