#pragma once

#include <napi.h>

namespace native_runner {

// Defines the class BubblewrapProcessSandbox: options that were read and checked once, and wrap(),
// which only computes. JavaScript thread.
void DefineProcessSandbox(Napi::Env env, Napi::Object exports);

}  // namespace native_runner
