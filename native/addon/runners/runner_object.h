#pragma once

#include <napi.h>

#include "addon/environment/environment_state.h"

namespace native_runner {

// Defines the classes of types/addon.d.ts that make a RunnerHandle or a SessionHandle on `exports`.
void DefineRunners(Napi::Env env, Napi::Object exports, EnvironmentState* state);

}  // namespace native_runner
