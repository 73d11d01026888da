#pragma once

#include <node_api.h>

#include <functional>

#include "addon/values/value_builder.h"
#include "policy/result.h"

namespace native_runner {

// Makes the value of what was done, on the JavaScript thread.
using MakeValue = std::function<napi_value(ValueBuilder& builder)>;

// A promise of what `work` comes to, which is done on a thread of libuv's pool: it may block, and
// must touch no value of JavaScript's. Rejected with its error. nullptr with an exception pending
// where none can be begun. An environment that goes away waits for it.
napi_value DoInBackground(napi_env env, std::function<Result<MakeValue>()> work);

}  // namespace native_runner
