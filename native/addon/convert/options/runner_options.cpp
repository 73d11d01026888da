#include "addon/convert/options/runner_options.h"

namespace native_runner {

std::optional<std::size_t> ReadMaxConcurrent(Fields& options) {
  return options.Integer("maxConcurrent", 1);
}

std::optional<PoolRule> ReadPrewarm(Fields& options, const BubblewrapPolicy& policy) {
  constexpr std::uint64_t kMost = 64;
  constexpr std::size_t kNever = 1;  // of clone's words
  PoolRule rule;
  if (const auto size = options.Integer("prewarm", 0, kMost)) {
    if (*size > 0 && !CanStand(policy)) {
      options.Fail("prewarm", ErrorCode::kInvalidValue,
                   "0 or left out with `extraArgs` or isolation \"compat\"",
                   *options.Value("prewarm"));
    }
    rule.size = static_cast<std::size_t>(*size);
  }
  rule.idle_ms = options.Integer("prewarmIdleMs", 1).value_or(rule.idle_ms);
  const bool never_clones = options.OneOf("clone", {"auto", "never"}) == kNever;
  rule.clones = !never_clones;  // where that can't be, each run says why
  const bool is_off = !CanStand(policy) || (rule.size == std::size_t{0} && !rule.clones);
  return is_off ? std::nullopt : std::optional(rule);
}

}  // namespace native_runner
