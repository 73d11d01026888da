#include "addon/convert/options/session_options.h"

#include "policy/options/validate.h"

namespace native_runner {

SessionRule ReadSessionRule(Fields& options) {
  constexpr std::uint64_t kDefaultIdleMs = 300'000;
  SessionRule rule;
  rule.max_commands = options.Integer("maxCommands", 1).value_or(0);
  rule.tmp_bytes = options.Integer("tmpBytes", 1).value_or(0);
  rule.keeps_shell = options.Boolean("shell").value_or(false);
  rule.idle_ms = kDefaultIdleMs;
  if (const auto number = options.Number("idleTimeoutMs")) {
    const auto idle = TimeoutValue(*number);
    if (idle) {
      rule.idle_ms = idle.value().value_or(0);
    } else if (const auto value = options.Value("idleTimeoutMs")) {
      options.Fail("idleTimeoutMs", ErrorCode::kOutOfRange, "a number greater than 0", *value);
    }
  }
  return rule;
}

}  // namespace native_runner
