#pragma once

#include <napi.h>

#include <memory>

#include "addon/convert/fields.h"
#include "addon/environment/environment_state.h"
#include "policy/lease.h"

namespace native_runner {

// Defines the class that makes a LeaseHandle (types/addon.d.ts) on `exports`.
void DefineLease(Napi::Env env, Napi::Object exports, EnvironmentState* state);

// The lease of such an object, in the field `lease`; none where it is absent. Anything else is a
// fault.
std::shared_ptr<const Lease> ReadLease(Fields& input);

}  // namespace native_runner
