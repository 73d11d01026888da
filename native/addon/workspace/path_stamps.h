#pragma once

#include <napi.h>

namespace native_runner {

// Defines exports.PathStamps: the states of some paths, as in types/addon.d.ts.
void DefinePathStamps(Napi::Env env, Napi::Object exports);

}  // namespace native_runner
