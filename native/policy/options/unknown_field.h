#pragma once

#include <span>
#include <string_view>

#include "policy/result.h"

namespace native_runner {

// The fault of a field that nobody reads, since one that is ignored may be a protection,
// misspelled. `place` is what messages call its object. `known` are the names there are, those of
// objects inside as paths ("limits.timeoutMs"). lib/fields.ts says the same.
Error UnknownField(std::string_view name, std::string_view place,
                   std::span<const std::string_view> known);

}  // namespace native_runner
