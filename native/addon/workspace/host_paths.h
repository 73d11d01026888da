#pragma once

#include <napi.h>

namespace native_runner {

class EnvironmentState;

// Defines exports.PathStamps: the states of some paths, as in types/addon.d.ts.
void DefinePathStamps(Napi::Env env, Napi::Object exports, EnvironmentState* state);

class EnvironmentState;

// Defines exports.lookAt and exports.readToolDirectories, as in types/addon.d.ts.
void DefineHostLooks(Napi::Env env, Napi::Object exports, EnvironmentState* state);

}  // namespace native_runner
