#pragma once

#include <span>
#include <string_view>

namespace native_runner {

// The one of `known` that `name` was most likely meant to be; empty when none is close. Of a path
// ("limits.timeoutMs") the last part counts. Case and what is neither letter nor digit do not
// matter. Close is at most a third of the name away, and 2 anyway (Levenshtein); else a name that
// contains the other. lib/nearest.ts is the same.
std::string_view NearestName(std::string_view name, std::span<const std::string_view> known);

}  // namespace native_runner
