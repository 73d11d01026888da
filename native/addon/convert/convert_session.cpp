#include "addon/convert/convert.h"
#include "addon/values/js_error.h"
#include "policy/options/validate.h"

namespace native_runner {
namespace {

constexpr std::uint64_t kDefaultIdleMs = 300'000;

// An integer from 1 on; 0 when it was not given.
std::uint64_t ReadCount(Reader& reader, const Napi::Object& options, const char* key) {
  const auto number = reader.Number(options, key, key);
  if (!number) return 0;
  const auto count = LimitValue(*number, key);
  if (count && count.value() >= 1) return count.value();
  reader.Fail({ErrorCode::kOutOfRange,
               "Expected `" + std::string(key) + "` to be an integer from 1 on, got " +
                   Describe(options.Get(key)),
               ""});
  return 0;
}

}  // namespace

std::optional<SessionRule> ReadSessionRule(Reader& reader, const Napi::Value& value) {
  const auto options = reader.Object(value, "options");
  if (!options) return std::nullopt;
  SessionRule rule;
  rule.max_commands = ReadCount(reader, *options, "maxCommands");
  rule.tmp_bytes = ReadCount(reader, *options, "tmpBytes");
  rule.keeps_shell = reader.Boolean(*options, "shell", "shell").value_or(false);
  rule.idle_ms = kDefaultIdleMs;
  if (const auto number = reader.Number(*options, "idleTimeoutMs", "idleTimeoutMs")) {
    const auto idle = TimeoutValue(*number);
    if (idle) {
      rule.idle_ms = idle.value().value_or(0);
    } else {
      reader.Fail({ErrorCode::kOutOfRange,
                   "Expected `idleTimeoutMs` to be a number greater than 0, got " +
                       Describe(options->Get("idleTimeoutMs")),
                   ""});
    }
  }
  return reader.failed() ? std::nullopt : std::optional(rule);
}

}  // namespace native_runner
