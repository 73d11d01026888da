#pragma once

#include <vector>

#include "addon/values/value_builder.h"
#include "policy/changes/change.h"

namespace native_runner {

// types/transaction.d.ts's Change, for each.
napi_value ChangesValue(ValueBuilder& builder, const std::vector<Change>& changes);

}  // namespace native_runner
