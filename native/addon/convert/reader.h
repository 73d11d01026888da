#pragma once

#include <napi.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/options/environment.h"
#include "policy/result.h"

namespace native_runner {

// Reads fields of JavaScript objects, coercing nothing. The first fault is thrown into JavaScript;
// after that every call does nothing and answers "absent", so a caller asks failed() once, at the
// end. An exception that a getter of the caller's throws counts as a fault. JavaScript thread.
class Reader {
 public:
  explicit Reader(Napi::Env env) : env_(env) {}

  bool failed() const { return failed_; }
  void Fail(const Error& error);
  void FailIf(const std::optional<Error>& error) {
    if (error) Fail(*error);
  }

  // `value` itself must be an object.
  std::optional<Napi::Object> Object(const Napi::Value& value, std::string_view name);

  // Fields: absent and undefined are nullopt; anything of another type is a fault that calls the
  // field `label`, what was expected, and what came.
  std::optional<std::string> String(const Napi::Object& from, const char* key,
                                    std::string_view label);
  std::optional<double> Number(const Napi::Object& from, const char* key, std::string_view label);
  std::optional<bool> Boolean(const Napi::Object& from, const char* key, std::string_view label);
  std::optional<std::vector<std::string>> Strings(const Napi::Object& from, const char* key,
                                                  std::string_view label);
  std::optional<std::vector<Variable>> Variables(const Napi::Object& from, const char* key,
                                                 std::string_view label);
  std::optional<std::vector<std::uint8_t>> Uint8Array(const Napi::Object& from, const char* key,
                                                      std::string_view label);
  std::optional<Napi::Object> Field(const Napi::Object& from, const char* key,
                                    std::string_view label);
  std::optional<Napi::Function> Function(const Napi::Object& from, const char* key,
                                         std::string_view label);

  // Any value; nullopt when absent, undefined or failed.
  std::optional<Napi::Value> Value(const Napi::Object& from, const char* key);

  void FailType(std::string_view label, const char* expected, const Napi::Value& got);

 private:
  bool Lost(const Napi::Value& value);

  Napi::Env env_;
  bool failed_ = false;
};

}  // namespace native_runner
