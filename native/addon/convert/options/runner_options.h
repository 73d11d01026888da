#pragma once

#include <cstddef>
#include <optional>

#include "addon/convert/fields.h"
#include "policy/options/policy.h"
#include "supervise/pool/sandbox_pool.h"

namespace native_runner {

// maxConcurrent: an integer >= 1, or nullopt when it was not given.
std::optional<std::size_t> ReadMaxConcurrent(Fields& options);

// prewarm (0..64), prewarmIdleMs and clone ("auto", "never"): how many sandboxes are to stand for a
// runner of this policy, and whether they are clones. nullopt: none stands, and none is a clone.
std::optional<PoolRule> ReadPrewarm(Fields& options, const BubblewrapPolicy& policy);

}  // namespace native_runner
