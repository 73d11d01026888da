#pragma once

#include <napi.h>

#include "addon/environment/environment_state.h"

namespace native_runner {

// Defines the class BubblewrapProcessSandbox: its constructor reads and checks the options once,
// and wrap() only computes. JavaScript thread.
void DefineProcessSandbox(Napi::Env env, Napi::Object exports);

// Defines the classes of types/addon.d.ts that make a RunnerHandle or a SessionHandle on `exports`.
void DefineRunners(Napi::Env env, Napi::Object exports, EnvironmentState* state);

}  // namespace native_runner
