#pragma once

#include <napi.h>

#include <string>

#include "policy/result.h"

namespace native_runner {

// A JavaScript Error for ours: TypeError or RangeError for the caller's mistakes, a plain Error for
// the rest (lib turns those into SandboxError); `code` always, `fix` where one is known. nullptr
// when the environment is being terminated and can make no values any more.
napi_value MakeJsError(napi_env env, const Error& error);
void ThrowJsError(napi_env env, const Error& error);

// How a message shows a value that was not expected: `"text"`, `1.5`, `an object`, `null` ...
std::string Describe(const Napi::Value& value);

}  // namespace native_runner
